"""The framework tables: consistent, sourced, and what the frameworks make of what is written."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from packaging.version import Version

from meshlint.config import framework as house
from meshlint.config.effective import WORLD, EffectiveConfig, Fork, Resolved
from meshlint.config.fields import FIELDS
from meshlint.config.framework import Framework, Role
from meshlint.config.frameworks.areal import mesh
from meshlint.config.frameworks.layout import layout_stages
from meshlint.config.launch import Launch, Write
from meshlint.config.registry import FRAMEWORKS, framework
from meshlint.config.value import Kind, Origin, State, Value, unknown, written
from meshlint.place import Span

ALL = [framework(name.replace("_", "-")) for name in FRAMEWORKS]
NAMES = [f.name for f in ALL]
LATEST = {"megatron-core": "0.19.0", "transformer-engine": "2.18", "megatron-bridge": "0.5.1", "verl": "0.9.0"}


def launch(name: str, entry: str = "train.py", **keys: object) -> Launch:
    """Make a launch of a framework; `__` in a key stands for a dot."""
    writes = tuple(
        Write(key.replace("__", "."), value if isinstance(value, Value) else written(value, place(line)))
        for line, (key, value) in enumerate(keys.items(), 1)
    )
    return Launch(name, entry, "test", "x::y", Span("x", 1), writes)


def place(line: int) -> Origin:
    return Origin(Kind.WRITTEN, text="it", span=Span("x", line))


def config(made: Launch, role: Role | None = None, **pins: str) -> EffectiveConfig:
    chosen = {library.replace("_", "-"): Version(text) for library, text in pins.items()}
    table = framework(made.framework)
    versions: Mapping[str, Resolved] = {
        library: Resolved((Version(LATEST.get(library, "1.0")),)) for library in table.libraries
    }
    return EffectiveConfig(made, table, role or table.roles(made)[0], versions, chosen)


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_rows_speak_of_canonical_fields(table: Framework) -> None:
    rows = [*(s.field for s in table.spellings), *(d.field for d in table.defaults), *table.derive, *table.amend]
    assert [row for row in rows if row not in FIELDS and row != WORLD] == []


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_every_row_has_a_source(table: Framework) -> None:
    assert [s.keys for s in table.spellings if not s.source] == []
    assert [d.field for d in table.defaults if not d.source] == []


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_no_field_has_a_key_twice(table: Framework) -> None:
    pairs = [(s.field, key) for s in table.spellings for key in s.keys]
    assert sorted(pairs) == sorted(set(pairs))


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_defaults_are_parsed_data(table: Framework) -> None:
    assert [d.field for d in table.defaults if FIELDS[d.field].parse(d.data) != d.data] == []


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_habits_are_listed(table: Framework) -> None:
    assert [habit for habit in table.habits if f"| {habit} |" not in (house.__doc__ or "")] == []
    assert table.habits["trains"] is True


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_every_field_of_an_empty_launch_resolves(table: Framework) -> None:
    made = config(launch(table.name), role=Role())
    assert all(made.value(name) is not None for name in FIELDS)


# Megatron-LM


def test_query_groups_need_their_switch() -> None:
    ungrouped = config(launch("megatron-lm", num_attention_heads="32", num_query_groups="8"))
    grouped = config(launch("megatron-lm", num_attention_heads="32", num_query_groups="8", group_query_attention=True))
    assert ungrouped.data("num_query_groups") == 32
    assert grouped.data("num_query_groups") == 8
    assert ungrouped.value("num_query_groups").span == Span("x", 1)


def test_head_dimension_follows_from_the_hidden_size() -> None:
    made = config(launch("megatron-lm", num_attention_heads="32", hidden_size="4096"))
    assert made.data("kv_channels") == 128
    assert made.value("kv_channels").state is State.SET


@pytest.mark.parametrize(
    ("keys", "chunks"),
    [
        ({"num_virtual_stages_per_pipeline_rank": "2", "pipeline_model_parallel_size": "4"}, 2),
        ({"num_virtual_stages_per_pipeline_rank": "1"}, None),
        (
            {"num_layers": "24", "num_layers_per_virtual_pipeline_stage": "2", "pipeline_model_parallel_size": "4"},
            3,
        ),
        ({"pipeline_model_parallel_layout": "Et*3|(tt|)*6mL", "pipeline_model_parallel_size": "4"}, 2),
        ({"pipeline_model_parallel_layout": "Ettt|tttL", "pipeline_model_parallel_size": "2"}, None),
        ({"hybrid_layer_pattern": "M*|M-|M*|M-", "pipeline_model_parallel_size": "2"}, 2),
        ({}, None),
    ],
)
def test_virtual_stages(keys: dict[str, str], chunks: int | None) -> None:
    assert config(launch("megatron-lm", **keys)).data("virtual_pipeline_model_parallel_size") == chunks


def test_a_pattern_gives_the_layers_since_017() -> None:
    made = launch("megatron-lm", num_layers="8", hybrid_layer_pattern="M*M-/MM")
    assert config(made, megatron_core="0.17.1").data("num_layers") == 4
    assert config(made, megatron_core="0.16.1").data("num_layers") == 8
    assert config(made).data("mtp_num_layers") == 1


def test_a_checkpoint_replaces_what_it_holds() -> None:
    made = config(launch("megatron-lm", use_checkpoint_args=True, num_experts="8", num_attention_heads="16"))
    assert made.value("num_moe_experts").is_unknown
    assert made.data("num_attention_heads") == 16
    assert made.value("hidden_size").is_unknown
    assert made.data("tensor_model_parallel_size") == 1


def test_a_checkpoint_may_replace_the_sizes_too() -> None:
    made = config(launch("megatron-lm", use_checkpoint_args=True, use_mp_args_from_checkpoint_args=True))
    assert made.value("tensor_model_parallel_size").is_unknown
    assert made.data("context_parallel_size") == 1


def test_fine_tuning_packs_since_016() -> None:
    made = launch("megatron-lm", sft=True)
    assert config(made, megatron_core="0.16.1").data("packed_sequences") is True
    assert config(made, megatron_core="0.15.3").data("packed_sequences") is False


def test_switches_that_turn_off() -> None:
    made = config(launch("megatron-lm", disable_bias_linear=True, skip_train=True, recompute_activations=True))
    assert made.data("add_bias_linear") is False
    assert made.data("training") is False
    assert made.data("recompute_granularity") == "selective"


def test_expert_tensor_parallel_follows_tp() -> None:
    assert config(launch("megatron-lm", tensor_model_parallel_size="4")).data("expert_tensor_parallel_size") == 4


@pytest.mark.parametrize("name", ["megatron-bridge", "nemo2"])
def test_without_groups_there_is_one_for_each_head(name: str) -> None:
    heads = {"megatron-bridge": "model.num_attention_heads", "nemo2": "model.config.num_attention_heads"}[name]
    groups = heads.replace("attention_heads", "query_groups")
    assert config(launch(name, **{heads: 32})).data("num_query_groups") == 32
    assert config(launch(name, **{heads: 32, groups: None})).data("num_query_groups") == 32
    assert config(launch(name, **{heads: 32, groups: 8})).data("num_query_groups") == 8


def test_yaml_cfg_skips_the_validator() -> None:
    assert config(launch("megatron-lm")).habit("validates_arguments") is True
    plain = config(launch("megatron-lm", yaml_cfg="x.yaml", num_query_groups=8, num_attention_heads=32))
    assert plain.habit("validates_hierarchical_sizes") is False
    assert plain.data("num_query_groups") == 8


def test_unknown_layers_make_unknown_virtual_stages() -> None:
    made = config(launch("megatron-lm", num_layers=unknown("$N is not set"), num_layers_per_virtual_pipeline_stage="1"))
    assert "$N is not set" in made.value("virtual_pipeline_model_parallel_size").reason


@pytest.mark.parametrize(
    ("layout", "stages"),
    [("Et*3|(tt|)*6mL", 8), ("Ettt|(tt|)*29,m|L", 32), ("(|tt)*2", 3), ("tL", 1), ("((", None), ("q", None), ("", 1)],
)
def test_layouts(layout: str, stages: int | None) -> None:
    assert layout_stages(layout) == stages


def test_a_layout_is_bounded() -> None:
    assert layout_stages("(t|)*999999") is None
    assert layout_stages("(t|*4000)*4000") is None


# Megatron-Bridge


def test_bridge_checks_sizes_since_04() -> None:
    made = launch("megatron-bridge")
    assert config(made, megatron_bridge="0.3.1").habit("validates_hierarchical_sizes") is False
    assert config(made, megatron_bridge="0.4.2").habit("validates_hierarchical_sizes") is True
    provider = config(launch("megatron-bridge", entry="provider"), megatron_bridge="0.4.2")
    assert provider.habit("validates_hierarchical_sizes") is False
    assert provider.habit("passes_hierarchical_sizes") is False


def test_an_open_version_forks_a_habit() -> None:
    table = framework("megatron-bridge")
    both = {"megatron-bridge": Resolved((Version("0.3.1"), Version("0.4.2")))}
    with pytest.raises(Fork):
        EffectiveConfig(launch("megatron-bridge"), table, Role(), both, {}).habit("validates_hierarchical_sizes")


def test_bridge_knows_fine_tuning_by_its_data() -> None:
    assert config(launch("megatron-bridge", dataset="FinetuningDatasetConfig")).data("sft") is True
    assert config(launch("megatron-bridge", dataset="x.MockGPTDatasetConfig")).data("sft") is False
    assert config(launch("megatron-bridge", dataset="OwnProvider")).value("sft").is_unknown


def test_bridge_precision_recipes() -> None:
    made = config(launch("megatron-bridge", model__fp8="e4m3", mixed_precision="bf16_with_fp8_current_scaling_mixed"))
    assert (made.data("fp8"), made.data("fp8_recipe"), made.data("fp8_param_gather")) == ("hybrid", "tensorwise", True)
    assert config(launch("megatron-bridge", model__fp8="e4m3", mixed_precision="bf16_mixed")).data("fp8") is None
    own = config(launch("megatron-bridge", mixed_precision="MixedPrecisionConfig", mixed_precision__fp8="hybrid"))
    assert own.data("fp8") == "hybrid"


def test_bridge_packs_where_a_size_is_given() -> None:
    specs = "dataset__packed_sequence_specs__packed_sequence_size"
    assert config(launch("megatron-bridge", **{specs: 2048})).data("packed_sequences") is True
    assert config(launch("megatron-bridge", **{specs: -1})).data("packed_sequences") is False
    assert config(launch("megatron-bridge", **{specs: "many"})).data("packed_sequences") is False
    assert config(launch("megatron-bridge", **{specs: unknown("an argument")})).value("packed_sequences").is_unknown


# verl


def verl_roles(**keys: object) -> list[str]:
    return [role.name for role in framework("verl").roles(launch("verl", **keys))]


def test_verl_roles_that_run_megatron() -> None:
    actor = {"actor_rollout_ref__actor__strategy": "megatron", "algorithm__adv_estimator": "grpo"}
    assert verl_roles(**actor) == ["actor"]
    assert verl_roles(**actor, actor_rollout_ref__ref__strategy="megatron") == ["actor"]
    assert verl_roles(
        **actor, actor_rollout_ref__ref__strategy="megatron", actor_rollout_ref__actor__use_kl_loss="True"
    ) == ["actor", "ref"]
    assert verl_roles(
        actor_rollout_ref__actor__strategy="fsdp", critic__strategy="megatron", algorithm__adv_estimator="gae"
    ) == ["critic"]
    assert verl_roles(actor_rollout_ref__actor__strategy=unknown("it is an argument")) == []
    assert verl_roles(critic__megatron__context_parallel_size=2, critic__enable=False) == []
    assert verl_roles(engine="megatron") == ["sft"]


def test_roles_that_only_run_forward() -> None:
    keys = {"actor_rollout_ref__ref__strategy": "megatron", "algorithm__use_kl_in_reward": True}
    made = launch("verl", **keys, algorithm__adv_estimator="grpo")
    roles = framework("verl").roles(made)
    assert {r.name: config(made, r).data("training") for r in roles} == {"ref": False}
    roll = launch("roll", reference__strategy_args__strategy_name="megatron_infer")
    assert config(roll).data("training") is False
    assert config(launch("roll", actor__strategy_args__strategy_name="megatron_train")).data("training") is True


def test_verl_keeps_an_override_apart() -> None:
    made = config(
        launch(
            "verl",
            actor_rollout_ref__actor__megatron__context_parallel_size=2,
            actor_rollout_ref__actor__megatron__override_transformer_config__context_parallel_size=4,
            actor_rollout_ref__actor__megatron__override_transformer_config__cp_comm_type="a2a",
            data__max_prompt_length=1024,
            data__max_response_length=3072,
            algorithm__adv_estimator="grpo",
        )
    )
    assert made.role.name == "actor"
    assert made.data("context_parallel_size") == 2
    assert made.data("override_context_parallel_size") == 4
    assert made.data("cp_comm_type") == ("a2a",)
    assert made.data("seq_length") == 4096
    assert made.data("sequence_parallel") is True


# NeMo-RL, ROLL, AReaL, ms-swift, slime


def test_nemo_rl_roles_need_megatron_enabled() -> None:
    roles = framework("nemo-rl").roles(
        launch("nemo-rl", policy__megatron_cfg__enabled=True, value__megatron_cfg__enabled=False)
    )
    assert [role.name for role in roles] == ["policy"]


def test_nemo_rl_recomputes_only_with_its_switch() -> None:
    keys = {"policy__megatron_cfg__enabled": True, "policy__megatron_cfg__recompute_granularity": "selective"}
    assert config(launch("nemo-rl", **keys)).data("recompute_granularity") is None
    on = config(launch("nemo-rl", **keys, policy__megatron_cfg__activation_checkpointing=True))
    assert on.data("recompute_granularity") == "selective"


def test_nemo_rl_trains_in_fp8_only_with_its_switch() -> None:
    section = "policy__megatron_cfg__fp8_cfg__"
    keys = {f"{section}fp8": "e4m3", f"{section}fp8_recipe": "blockwise", f"{section}fp8_param": True}
    names = ("fp8", "fp8_recipe", "fp8_param_gather")
    made = {"policy__megatron_cfg__enabled": True, **keys}
    for off in ({}, {f"{section}enabled": False}):
        assert [config(launch("nemo-rl", **made, **off)).data(name) for name in names] == [None, "delayed", False]
    on = config(launch("nemo-rl", **made, **{f"{section}enabled": True}))
    assert [on.data(name) for name in names] == ["e4m3", "blockwise", True]
    other = config(launch("nemo-rl", **made, policy__megatron_cfg__model_overrides__fp8="hybrid"))
    assert other.data("fp8") == "hybrid"


def test_nemo_rl_counts_tokens_where_its_batches_are_cut() -> None:
    keys = {
        "policy__megatron_cfg__enabled": True,
        "policy__sequence_packing__train_mb_tokens": 4096,
        "policy__dynamic_batching__train_mb_tokens": 8192,
    }
    packed = config(launch("nemo-rl", **keys, policy__sequence_packing__enabled=True))
    dynamic = config(launch("nemo-rl", **keys, policy__dynamic_batching__enabled=True))
    assert (packed.data("max_tokens_per_gpu"), dynamic.data("max_tokens_per_gpu")) == (4096, 8192)


def test_roll_workers() -> None:
    made = launch(
        "roll",
        actor_train__strategy_args__strategy_name="megatron_train",
        actor_train__strategy_args__strategy_config__context_parallel_size=2,
        actor_infer__strategy_args__strategy_name="vllm",
        critic__strategy_args__strategy_name="megatron_train",
        adv_estimator="grpo",
    )
    assert [role.name for role in framework("roll").roles(made)] == ["actor_train"]
    assert config(made).data("context_parallel_size") == 2


@pytest.mark.parametrize(
    ("word", "degrees"),
    [
        ("megatron:d4p2t2", {"d": 4, "p": 2, "t": 2}),
        ("sglang:d4+megatron[actor]:d2t2c2", {"d": 2, "t": 2, "c": 2}),
        ("megatron:(attn:d1p2t4c2|ffn:d1p2e4)", {"d": 1, "p": 2, "t": 4, "c": 2, "e": 4, "et": 1}),
    ],
)
def test_areal_mesh(word: str, degrees: dict[str, int]) -> None:
    assert mesh(word) == degrees


@pytest.mark.parametrize("word", ["fsdp:d4", "megatron:x4", "megatron:d", "megatron:4d", "megatron:d9999999999", ""])
def test_areal_mesh_refuses(word: str) -> None:
    with pytest.raises(ValueError, match=r"Megatron engine|mesh such as"):
        mesh(word)


def test_areal_roles_and_sizes() -> None:
    made = launch("areal", rollout__backend="sglang:d4", actor__backend="megatron:d1p2t2c2")
    assert [role.name for role in framework("areal").roles(made)] == ["actor"]
    made_config = config(made)
    assert made_config.data("context_parallel_size") == 2
    assert made_config.data("sequence_parallel") is True
    assert made_config.data("expert_tensor_parallel_size") == 1


def test_swift_packs_and_counts_tokens() -> None:
    assert config(launch("ms-swift")).data("calculate_per_token_loss") is True
    assert config(launch("ms-swift", rlhf_type="dpo")).data("calculate_per_token_loss") is False
    assert config(launch("ms-swift", padding_free="false")).data("packed_sequences") is False
    assert config(launch("ms-swift", padding_free="false", packing="true")).data("packed_sequences") is True


def test_slime_is_megatron_with_its_own_defaults() -> None:
    made = config(launch("slime", context_parallel_size="2"))
    assert made.data("packed_sequences") is True
    assert made.habit("validates_hierarchical_sizes") is True
    assert made.data("seq_length") == 4096


ROLLOUT = {"num_steps_per_rollout": "4", "rollout_batch_size": "128", "n_samples_per_prompt": "8"}


def test_slime_shares_a_rollout_out_to_its_steps() -> None:
    batch = config(launch("slime", **ROLLOUT)).value("global_batch_size")
    assert (batch.data, batch.is_set) == (256, True)
    assert [o.span.line for o in batch.origins if o.span is not None] == [1, 2, 3]
    assert config(launch("slime", **{**ROLLOUT, "n_samples_per_prompt": "1"})).data("global_batch_size") == 32


def test_slime_takes_a_written_batch_before_that_of_the_steps() -> None:
    assert config(launch("slime", **ROLLOUT, global_batch_size="64")).data("global_batch_size") == 64
    assert config(launch("slime", rollout_batch_size="128", n_samples_per_prompt="8")).data("global_batch_size") is None


def test_slime_guesses_no_batch_from_steps_that_are_not_known() -> None:
    batch = config(launch("slime", **{**ROLLOUT, "rollout_batch_size": unknown("$N is not set")}))
    assert batch.value("global_batch_size").is_unknown
    assert config(launch("slime", **{**ROLLOUT, "num_steps_per_rollout": "few"})).value("global_batch_size").is_unknown
    assert config(launch("slime", **{**ROLLOUT, "num_steps_per_rollout": "0"})).data("global_batch_size") is None
