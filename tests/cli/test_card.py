"""`meshlint card`: ranks and groups, stages, batches and pads of real launch forms, and whether each may go."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import CommandLine

BASE = (
    "--num-layers 16",
    "--hidden-size 1024",
    "--num-attention-heads 16",
    "--seq-length 4096",
    "--max-position-embeddings 4096",
    "--micro-batch-size 2",
    "--global-batch-size 128",
)
PINS = ("--pin", "megatron-core=0.16.1", "--pin", "transformer-engine=2.10.0", "--pin", "torch=2.8.0")


def script(*flags: str, launcher: str = "torchrun --nnodes 2 --nproc-per-node 8") -> str:
    lines = "\n".join(f"    {flag}" for flag in (*BASE, *flags))
    return f'#!/bin/bash\nARGS=(\n{lines}\n)\n{launcher} pretrain_gpt.py "${{ARGS[@]}}"\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("meshlint.config.installed.sys.prefix", "/nonexistent")
    (tmp_path / "meshlint.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def roles(meshlint: CommandLine, file: str, *words: str, pins: Sequence[str] = PINS) -> list[dict[str, Any]]:
    run = meshlint("card", *pins, "--format", "json", *words, file)
    assert run.status in (0, 1), run.err
    (card,) = json.loads(run.out)["cards"]
    (variant,) = card["variants"]
    found: list[dict[str, Any]] = variant["roles"]
    return found


def role(meshlint: CommandLine, text: str, *words: str, pins: Sequence[str] = PINS) -> dict[str, Any]:
    Path("run.sh").write_text(text)
    (one,) = roles(meshlint, "run.sh", *words, pins=pins)
    return one


def sizes(one: dict[str, Any]) -> dict[str, Any]:
    return {name: one[name]["value"] for name in ("ranks", "tp", "cp", "dp", "pp")}


def groups(one: dict[str, Any], key: str = "groups") -> dict[str, tuple[int, int, list[int], int | None]]:
    return {g["name"]: (g["count"], g["size"], g["first"], g["nodes"]) for g in one[key]["value"]}


FOUR = ("--tensor-model-parallel-size 2", "--context-parallel-size 2", "--pipeline-model-parallel-size 2")


def test_the_grid_and_the_groups_that_cross_nodes(meshlint: CommandLine) -> None:
    one = role(meshlint, script(*FOUR))
    assert sizes(one) == {"ranks": 16, "tp": 2, "cp": 2, "dp": 2, "pp": 2}
    assert (one["nodes"]["value"], one["gpus_per_node"]["value"]) == (2, 8)
    assert groups(one) == {
        "tp": (8, 2, [0, 1], 1),
        "cp": (8, 2, [0, 2], 1),
        "dp": (8, 2, [0, 4], 1),
        "dp-cp": (4, 4, [0, 2, 4, 6], 1),
        "pp": (8, 2, [0, 8], 2),
    }
    assert one["expert_groups"]["value"] is None


def test_another_rank_order_moves_stages_next_to_each_other(meshlint: CommandLine) -> None:
    one = role(meshlint, script(*FOUR, "--use-tp-pp-dp-mapping"))
    assert one["order"]["value"] == "tp-cp-ep-pp-dp"
    assert (groups(one)["pp"], groups(one)["dp"]) == ((8, 2, [0, 4], 1), (8, 2, [0, 8], 2))


def test_experts_have_a_grid_of_their_own(meshlint: CommandLine) -> None:
    experts = ("--num-experts 8", "--expert-model-parallel-size 4", "--expert-tensor-parallel-size 1")
    one = role(meshlint, script(*FOUR, *experts))
    assert [one[name]["value"] for name in ("etp", "ep", "edp")] == [1, 4, 2]
    assert groups(one, "expert_groups") == {"ep": (4, 4, [0, 1, 2, 3], 1), "expert-dp": (8, 2, [0, 4], 1)}


def test_experts_on_other_stages_are_refused(meshlint: CommandLine) -> None:
    experts = ("--num-experts 8", "--expert-model-parallel-size 8", "--expert-tensor-parallel-size 1")
    one = role(meshlint, script(*FOUR, *experts, "--use-tp-pp-dp-mapping"))
    assert "would be on other stages" in one["expert_groups"]["unknown"]


def test_weight_shards_take_ranks_and_samples_of_their_own(meshlint: CommandLine) -> None:
    text = script("--tensor-model-parallel-size 2", "--tensor-parallel-num-weight-shards 4")
    pins = ("--pin", "megatron-core=0.19.2")
    one = role(meshlint, text, pins=pins)
    assert (one["shards"]["value"], one["dp"]["value"]) == (2, 4)
    assert groups(one)["weight shards"] == (8, 2, [0, 2], 1)
    step = one["step"]["value"]
    assert (step["samples"], step["micro"], step["dp"], step["micro_batches"]) == (128, 2, 8, 8)
    assert "grid       tp 2 x shards 2 x cp 1 x dp 4 x pp 1" in meshlint("card", *pins, "run.sh").out
    older = role(meshlint, text)
    assert (older["shards"]["value"], older["dp"]["value"]) == (1, 8)


def test_levels_of_hierarchical_cp(meshlint: CommandLine) -> None:
    levels = ("--context-parallel-size 4", "--cp-comm-type a2a+p2p", "--hierarchical-context-parallel-sizes 2 2")
    one = role(meshlint, script("--tensor-model-parallel-size 4", *levels))
    found = groups(one)
    assert (found["cp"], found["cp a2a"], found["cp p2p"]) == (
        (4, 4, [0, 4, 8, 12], 2),
        (8, 2, [0, 4], 1),
        (8, 2, [0, 8], 2),
    )


def test_optimizer_instances(meshlint: CommandLine) -> None:
    flags = ("--tensor-model-parallel-size 2", "--context-parallel-size 2", "--use-distributed-optimizer")
    one = role(meshlint, script(*flags, "--num-distributed-optimizer-instances 2"))
    found = groups(one)
    assert found["optimizer instance"] == (4, 4, [0, 2, 4, 6], 1)
    assert found["across instances"] == (8, 2, [0, 8], 2)


@pytest.mark.parametrize(
    ("flags", "held"),
    [
        ((), [[4]] * 4),
        (("--num-layers-per-virtual-pipeline-stage 2",), [[2, 2]] * 4),
        (("--decoder-first-pipeline-num-layers 2", "--decoder-last-pipeline-num-layers 4"), [[2], [5], [5], [4]]),
        (
            ("--num-layers 14", "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"),
            [[3], [4], [4], [3]],
        ),
        (("--pipeline-model-parallel-layout 'Ett|t*5|t*5|(tt)*2L'",), [[2], [5], [5], [4]]),
        (
            ("--num-layers 8", "--pipeline-model-parallel-layout 'E|t|t|t|(t|)*3ttL'"),
            [[0, 1], [1, 1], [1, 1], [1, 2]],
        ),
    ],
)
def test_layers_of_each_stage(meshlint: CommandLine, flags: tuple[str, ...], held: list[list[int]]) -> None:
    one = role(meshlint, script("--pipeline-model-parallel-size 4", *flags))
    assert [stage["chunks"] for stage in one["stages"]["value"]] == held


def test_one_stage_that_is_first_and_last_builds_the_layers_of_the_last(meshlint: CommandLine) -> None:
    ends = ("--decoder-first-pipeline-num-layers 6", "--decoder-last-pipeline-num-layers 10")
    assert role(meshlint, script(*ends))["stages"]["unknown"] == "16 layers do NOT FIT: the one stage builds 10"
    ends = ("--decoder-last-pipeline-num-layers 16",)
    assert role(meshlint, script(*ends))["stages"]["value"][0]["chunks"] == [16]


def test_a_layout_says_what_stands_beside_the_layers(meshlint: CommandLine) -> None:
    layout = "--pipeline-model-parallel-layout 'Et*5|t*5|t*6|mL'"
    one = role(meshlint, script("--pipeline-model-parallel-size 4", "--mtp-num-layers 1", layout))
    beside = [stage["beside"] for stage in one["stages"]["value"]]
    assert beside == [["embedding"], [], [], ["prediction layer", "loss"]]


def test_layers_that_do_not_come_out_are_told_and_stop_the_launch(meshlint: CommandLine) -> None:
    Path("run.sh").write_text(script("--pipeline-model-parallel-size 4", "--num-layers 15"))
    run = meshlint("card", *PINS, "run.sh")
    assert run.status == 1
    assert run.out.startswith("NO-GO  run.sh::command 1")
    assert "layers     15 layers do NOT FIT: they are no multiple of pp 4" in run.out
    assert "error PAR003 run.sh:10" in run.out


def test_batch_arithmetic(meshlint: CommandLine) -> None:
    one = role(meshlint, script(*FOUR))
    step = one["step"]["value"]
    assert (step["samples"], step["micro"], step["dp"], step["micro_batches"]) == (128, 2, 2, 32)
    assert one["step"]["written"] == ["run.sh:9", "run.sh:8"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--rampup-batch-size 16 16 1000",), "the batch grows during the run"),
        (("--global-batch-size 130",), "130 samples do NOT FIT: they are no multiple of micro 2 x dp 4"),
    ],
)
def test_batches_that_no_number_tells(meshlint: CommandLine, flags: tuple[str, ...], said: str) -> None:
    one = role(meshlint, script("--tensor-model-parallel-size 4", *flags))
    assert one["step"]["unknown"] == said


def test_unknown_ranks_leave_the_rest_known(meshlint: CommandLine) -> None:
    one = role(meshlint, script(*FOUR, launcher="torchrun --nnodes $NODES --nproc-per-node 8"))
    assert one["tp"]["value"] == 2
    assert "NODES" in one["dp"]["unknown"] and one["dp"]["value"] is None
    assert "NODES" in one["groups"]["unknown"]
    step = one["step"]["value"]
    assert (step["samples"], step["micro"], step["dp"], step["micro_batches"]) == (128, 2, None, None)


def test_what_the_environment_may_change_has_a_star(meshlint: CommandLine) -> None:
    Path("run.sh").write_text(script(*FOUR, launcher="torchrun --nnodes ${NODES:-2} --nproc-per-node 8"))
    run = meshlint("card", *PINS, "run.sh")
    assert "  ranks      16*  (2 nodes of 8" in run.out
    assert "  *          unless overridden: NODES in the environment" in run.out


def test_ranks_and_gpus_of_a_node_can_be_given(meshlint: CommandLine) -> None:
    text = script(*FOUR, launcher="torchrun --nnodes $NODES --nproc-per-node $GPUS")
    one = role(meshlint, text, "--world-size", "16")
    assert groups(one)["pp"] == (8, 2, [0, 8], None)
    assert "GPUS" in one["gpus_per_node"]["unknown"]
    one = role(meshlint, text, "--world-size", "16", "--gpus-per-node", "4")
    assert (groups(one)["pp"], groups(one)["dp"]) == ((8, 2, [0, 8], 2), (8, 2, [0, 4], 2))


def test_ranks_that_hold_no_whole_replica(meshlint: CommandLine) -> None:
    one = role(meshlint, script("--tensor-model-parallel-size 3", "--num-attention-heads 12"))
    assert one["dp"]["unknown"] == "16 ranks do NOT FIT: they are no multiple of tp * cp * pp = 3"


def test_too_many_ranks_are_counted_and_not_listed(meshlint: CommandLine) -> None:
    one = role(meshlint, script(*FOUR), "--world-size", "1000000")
    assert one["dp"]["value"] == 125000
    assert one["nodes"]["unknown"] == "the ranks are others than those of the nodes that the launch asks for"
    assert "at most 32,768 ranks" in one["groups"]["unknown"]


@pytest.mark.parametrize(
    ("flags", "pad"),
    [
        ((), None),
        (("--context-parallel-size 4",), (4096, 8, True)),
        (("--tensor-model-parallel-size 4", "--sequence-parallel"), (4096, 4, True)),
        (("--context-parallel-size 2", "--tensor-model-parallel-size 8", "--sequence-parallel"), (4096, 16, True)),
        (("--context-parallel-size 4", "--seq-length 4100", "--max-position-embeddings 4100"), (4100, 8, False)),
    ],
)
def test_what_a_sequence_has_to_be_a_multiple_of(
    meshlint: CommandLine, flags: tuple[str, ...], pad: tuple[int, int, bool] | None
) -> None:
    one = role(meshlint, script(*flags))
    found = [(p["given"], p["wanted"], p["fits"]) for p in one["pads"]["value"] or ()]
    assert found == ([] if pad is None else [pad])


RECIPE = """\
from megatron.bridge.models import GPTModelProvider
from megatron.bridge.training.config import ConfigContainer, FinetuningDatasetConfig, TrainingConfig
from megatron.bridge.data.datasets.packed_sequence import PackedSequenceSpecs


def tiny_config():
    return ConfigContainer(
        model=GPTModelProvider(num_layers=8, num_attention_heads=8, context_parallel_size=4, seq_length=4096),
        train=TrainingConfig(micro_batch_size=1, global_batch_size=32),
        dataset=FinetuningDatasetConfig(
            seq_length=4096, packed_sequence_specs=PackedSequenceSpecs(packed_sequence_size=4096, pad_seq_to_mult=2)
        ),
    )
"""


def test_a_pad_that_packing_does_not_suit(meshlint: CommandLine) -> None:
    Path("recipe.py").write_text(RECIPE)
    pins = ("--pin", "megatron-bridge=0.4.2")
    (one,) = roles(meshlint, "recipe.py", "--world-size", "8", pins=pins)
    (pad,) = one["pads"]["value"]
    assert (pad["what"], pad["given"], pad["wanted"], pad["fits"]) == ("each packed sequence", 2, 8, False)
    assert "padded to multiples of 2 by pad_multiple; wants multiples of 8 (2*cp), which does NOT FIT" in (
        meshlint("card", *pins, "recipe.py").out
    )


VERL = """\
python3 -m verl.trainer.main_ppo --config-path=config --config-name=ppo_megatron_trainer \\
    actor_rollout_ref.actor.strategy=megatron actor_rollout_ref.ref.strategy=megatron critic.strategy=megatron \\
    algorithm.adv_estimator=grpo actor_rollout_ref.actor.use_kl_loss=True \\
    actor_rollout_ref.model.path=Qwen/Qwen3-8B data.max_prompt_length=1024 data.max_response_length=1024 \\
    actor_rollout_ref.actor.ppo_mini_batch_size=32 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\
    actor_rollout_ref.actor.use_dynamic_bsz=False actor_rollout_ref.rollout.n=4 \\
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \\
    actor_rollout_ref.actor.megatron.context_parallel_size=2 \\
    actor_rollout_ref.ref.megatron.tensor_model_parallel_size=4 \\
    actor_rollout_ref.ref.megatron.pipeline_model_parallel_size=2 \\
    trainer.nnodes=2 trainer.n_gpus_per_node=8
"""


def test_each_role_has_a_card(meshlint: CommandLine) -> None:
    Path("run.sh").write_text(VERL)
    pins = ("--pin", "verl=0.7.1", "--pin", "megatron-core=0.16.1")
    actor, ref = roles(meshlint, "run.sh", pins=pins)
    assert [actor["name"], ref["name"]] == ["actor", "ref"]
    assert sizes(actor) == {"ranks": 16, "tp": 2, "cp": 2, "dp": 4, "pp": 1}
    assert sizes(ref) == {"ranks": 16, "tp": 4, "cp": 1, "dp": 2, "pp": 2}
    step = actor["step"]["value"]
    assert (step["samples"], step["micro"], step["dp"], step["micro_batches"]) == (128, 2, 4, 16)
    assert actor["step"]["note"] == "32 prompts * 4 responses, one mini-batch"
    assert ref["step"]["value"] is None
    (pad,) = actor["pads"]["value"]
    assert (pad["given"], pad["wanted"], pad["by"]) == (8, 4, "verl itself")


def test_micro_batches_cut_by_tokens_have_no_number(meshlint: CommandLine) -> None:
    Path("run.sh").write_text(VERL.replace("use_dynamic_bsz=False", "use_dynamic_bsz=True"))
    actor, _ = roles(meshlint, "run.sh", pins=("--pin", "verl=0.7.1"))
    step = actor["step"]["value"]
    assert (step["samples"], step["by_tokens"], step["micro_batches"]) == (128, True, None)


def test_a_line_that_hangs_on_open_versions_says_on_which(meshlint: CommandLine) -> None:
    Path("recipe.py").write_text(
        RECIPE.replace(
            "context_parallel_size=4", "tensor_model_parallel_size=2, num_moe_experts=8, expert_model_parallel_size=4"
        )
    )
    (one,) = roles(meshlint, "recipe.py", "--world-size", "8", pins=("--pin", "megatron-bridge=>=0.5"))
    assert [(item["value"], item["versions"]) for item in one["etp"]] == [
        (2, "megatron-bridge 0.5.1"),
        (1, "megatron-bridge 0.6.2"),
    ]


def test_a_command_is_carded_as_it_would_start(meshlint: CommandLine) -> None:
    flags = [word for flag in (*BASE, *FOUR) for word in flag.split()]
    words = ("torchrun", "--nproc-per-node", "8", "pretrain_gpt.py", *flags)
    run = meshlint("card", *PINS, "--", *words)
    assert run.status == 0
    assert "grid       tp 2 x cp 2 x dp 1 x pp 2" in run.out
    assert run.out.startswith("GO  ")


def test_a_suppressed_error_does_not_stop_a_launch(meshlint: CommandLine) -> None:
    text = script("--pipeline-model-parallel-size 4", "--num-layers 15")
    Path("run.sh").write_text(text.replace("parallel-size 4", "parallel-size 4 # meshlint: ignore[PAR003] -- known"))
    run = meshlint("card", *PINS, "run.sh")
    assert (run.status, run.out[:4]) == (0, "GO  ")
    assert "1 suppressed" in run.out.splitlines()[0]


def test_warnings_do_not_stop_a_launch_but_may_fail_the_run(meshlint: CommandLine) -> None:
    ref = "actor_rollout_ref.ref.megatron"
    text = VERL.replace(f"{ref}.tensor_model_parallel_size=4", f"{ref}.tensor_model_parallel_size=1")
    Path("run.sh").write_text(
        text.replace(f"{ref}.pipeline_model_parallel_size=2", f"{ref}.pipeline_model_parallel_size=8")
    )
    pins = ("--pin", "verl=0.7.1", "--pin", "megatron-core=0.16.1")
    run = meshlint("card", *pins, "run.sh")
    assert (run.status, run.out.splitlines()[0].split("  ")[:2]) == (0, ["NO-GO as written", "run.sh::command 1"])
    assert "unless what the warnings name is otherwise" in run.out
    assert "36 layers do NOT FIT: they are no multiple of pp 8" in run.out
    assert meshlint("card", *pins, "--fail-level", "warning", "run.sh").status == 1


def test_each_role_has_a_verdict_of_its_own(meshlint: CommandLine) -> None:
    """A finding names the roles that it is about; one about a role leaves the others as they are."""
    pp = "actor_rollout_ref.ref.megatron.pipeline_model_parallel_size"
    Path("run.sh").write_text(VERL.replace(f"{pp}=2", f"{pp}=3"))
    pins = ("--pin", "verl=0.7.1", "--pin", "megatron-core=0.16.1")
    (card,) = json.loads(meshlint("card", *pins, "--format", "json", "run.sh").out)["cards"]
    verdicts = {role["name"]: role["verdict"] for role in card["variants"][0]["roles"]}
    (finding,) = [finding for finding in card["findings"] if finding["severity"] == "error"]
    assert (card["verdict"], verdicts) == ("NO-GO", {"actor": "GO", "ref": "NO-GO"})
    assert [launch["roles"] for launch in finding["launches"]] == [["ref"]]
    shown = meshlint("card", *pins, "run.sh").out
    assert "[actor]  GO\n" in shown and "[ref]  NO-GO\n" in shown
    assert f"{finding['path']}:{finding['line']} [ref]  " in shown


def test_ranks_of_a_default_that_do_not_fit_are_no_go_as_written(meshlint: CommandLine) -> None:
    """No rule speaks, since more nodes would fit; a card that shows what does not fit does not say GO beside it."""
    launcher = "torchrun --nnodes ${NNODES:-1} --nproc-per-node 8"
    sizes = ("--tensor-model-parallel-size 8", "--pipeline-model-parallel-size 4")
    Path("run.sh").write_text(script(*sizes, launcher=launcher))
    run = meshlint("card", *PINS, "run.sh")
    assert (run.status, run.out.splitlines()[0].split("  ")[0]) == (0, "NO-GO as written")
    assert "they are no multiple of tp * cp * pp = 32), unless NNODES in the environment says otherwise" in run.out
    more = meshlint("card", *PINS, "--env", "NNODES=4", "run.sh")
    assert (more.status, more.out[:4]) == (0, "GO  ")


def test_several_launches_are_counted(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script(*FOUR))
    Path("b.sh").write_text(script("--pipeline-model-parallel-size 4", "--num-layers 15"))
    run = meshlint("card", *PINS, ".")
    assert run.status == 1
    assert run.out.rstrip().endswith("2 launches: 1 GO, 1 NO-GO.")


def test_undecided_conditions_give_a_card_for_each_arm_that_differs(meshlint: CommandLine) -> None:
    text = script(*FOUR).replace("ARGS=(", 'TP=2\nif [ "$BIG" = 1 ]; then TP=4; fi\nARGS=(')
    Path("run.sh").write_text(text.replace("--tensor-model-parallel-size 2", "--tensor-model-parallel-size $TP"))
    out = meshlint("card", *PINS, "run.sh").out
    assert out.count("  where      ") == 2
    assert "tp 2 x cp 2 x dp 2 x pp 2" in out and "tp 4 x cp 2 x dp 1 x pp 2" in out


def test_a_file_that_starts_nothing_gives_the_cards_of_those_who_read_it(meshlint: CommandLine) -> None:
    Path("sizes.sh").write_text("SIZES=(--tensor-model-parallel-size 4)\n")
    Path("run.sh").write_text(script('"${SIZES[@]}"').replace("ARGS=(", "source sizes.sh\nARGS=(", 1))
    run = meshlint("card", *PINS, "sizes.sh")
    assert run.out.startswith("GO  run.sh::command 1")
    assert "tp 4 x cp 1 x dp 4 x pp 1" in run.out


def test_nothing_to_card_is_said(meshlint: CommandLine) -> None:
    Path("notes.sh").write_text("echo hello\n")
    run = meshlint("card", "notes.sh")
    assert (run.status, run.out) == (0, "")
    assert "no launch is in scope" in run.err


def test_names_of_files_command_no_runner_and_no_markdown(meshlint: CommandLine) -> None:
    name = "::error::`x`.sh"
    Path(name).write_text(script(*FOUR))
    text, shown = meshlint("card", *PINS, name).out, meshlint("card", *PINS, "--format", "markdown", name).out
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "``" in shown.splitlines()[0]
    assert not [line for line in shown.splitlines() if line.lstrip().startswith("::")]


def test_paths_and_a_command_exclude_each_other(meshlint: CommandLine) -> None:
    run = meshlint("card", "run.sh", "--", "torchrun", "pretrain_gpt.py")
    assert run.status == 2
    assert "not both" in run.err


def test_check_shows_the_cards_of_a_command_beside_its_findings(meshlint: CommandLine) -> None:
    flags = [word for flag in (*BASE, "--pipeline-model-parallel-size 4", "--num-layers 15") for word in flag.split()]
    command = ("torchrun", "--nproc-per-node", "8", "pretrain_gpt.py", *flags)
    run = meshlint("check", *PINS, "--card", "--", *command)
    assert run.status == 1
    assert run.out.startswith("error[PAR003]")
    assert run.out.index("error[PAR003]") < run.out.index("NO-GO  ")
    for words, said in ((("--format", "json"), "--format full or markdown"), (("--diff", "main"), "not with --diff")):
        run = meshlint("check", "--card", *words, ".")
        assert (run.status, said in run.err) == (2, True)


def test_what_a_baseline_holds_does_not_stop_a_launch(meshlint: CommandLine) -> None:
    Path("run.sh").write_text(script("--pipeline-model-parallel-size 4", "--num-layers 15"))
    meshlint("baseline", "write", *PINS)
    run = meshlint("card", *PINS, "--baseline", "meshlint-baseline.txt", "run.sh")
    assert (run.status, run.out[:4]) == (0, "GO  ")


PROVIDER = """
from megatron.bridge import AutoBridge

def convert():
    provider = AutoBridge.from_hf_pretrained("org/tiny").to_megatron_provider(load_weights=False)
{more}    return provider.provide_distributed_model(wrap_with_ddp=False)

convert()
"""


@pytest.mark.parametrize(("more", "length"), [("", None), ("    provider.seq_length = 2048\n", 2048)])
def test_the_length_of_a_hub_model_is_its_own(meshlint: CommandLine, more: str, length: int | None) -> None:
    Path("convert.py").write_text(PROVIDER.format(more=more))
    (one,) = roles(meshlint, "convert.py", pins=())
    assert one["length"]["value"] == length


@pytest.mark.parametrize(("path", "severity", "status"), [(".", "warning", 0), ("long.sh", "error", 1)])
def test_a_launch_that_cannot_be_read_is_told_beside_the_cards(
    meshlint: CommandLine, path: str, severity: str, status: int
) -> None:
    Path("long.sh").write_text(f"#!/bin/bash\ntorchrun pretrain_gpt.py --save {'x' * 200_001}\n")
    Path("run.sh").write_text(script())
    run = meshlint("card", *PINS, path)
    assert run.status == status
    assert f"meshlint: {severity} MSH003 long.sh:2: This cannot be read" in run.err


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("Et*3|t*10L", "the 13 layers of the layout do NOT FIT: num_layers = 16"),
        ("Et*8|t*8|L", "the 3 stages of the layout do NOT FIT: they are no multiple of pp 2"),
        ("Et*99999999999|t*9999999L", "pipeline_model_parallel_layout: its stages cannot be read"),
    ],
)
def test_a_layout_that_does_not_fit_the_model_is_told_as_such(meshlint: CommandLine, layout: str, said: str) -> None:
    flags = ("--pipeline-model-parallel-size 2", f"--pipeline-model-parallel-layout '{layout}'")
    assert role(meshlint, script(*flags))["stages"]["unknown"] == said


def test_several_words_and_long_ones_are_told_as_they_stand_and_short(meshlint: CommandLine) -> None:
    flags = ("--tensor-model-parallel-size 2 4", f"--context-parallel-size {'7' * 5000}")
    one = role(meshlint, script(*flags))
    assert one["tp"]["unknown"] == "tensor_model_parallel_size: `2 4` is not a whole number"
    assert one["cp"]["unknown"] == f"context_parallel_size: `{'7' * 60}...` is not a whole number"
    Path("run.sh").write_text(script("--micro-batch-size 2 4", f"--seq-length {'x' * 5000}"))
    told = meshlint("check", "--select", "CFG001", "run.sh").out
    assert "micro_batch_size is given twice: 2 4 counts, and 2" in " ".join(told.split())
    assert "x" * 101 not in told.split("|")[0]


@pytest.mark.parametrize(
    ("size", "ranks"), [("16", 16), (" 16 ", 16), ("0", None), ("-8", None), ("many", None), ("9" * 30, None)]
)
def test_a_process_that_no_launcher_starts_reads_its_ranks_from_the_environment(
    meshlint: CommandLine, size: str, ranks: int | None
) -> None:
    assert role(meshlint, script(launcher=f"WORLD_SIZE='{size}' python"))["ranks"]["value"] == ranks
    started = role(meshlint, script(launcher=f"WORLD_SIZE='{size}' torchrun --nproc-per-node 8"))
    assert started["ranks"]["value"] == 8


def test_every_pin_of_a_version_is_named(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "Dockerfile").write_text("RUN pip install transformer-engine==2.8.0\n")
    (tmp_path / "Dockerfile.b").write_text("RUN pip install transformer-engine==2.10.0\n")
    (tmp_path / "run.sh").write_text("torchrun --nproc-per-node 8 pretrain_gpt.py --context-parallel-size 2\n")
    card = meshlint("card", tmp_path / "run.sh").out
    assert "transformer-engine 2.8.0 to 2.10.0 (" in card
    assert card.count("Dockerfile") == 2
    config = meshlint("config", tmp_path / "run.sh").out
    assert ('"==2.8.0"' in config, '"==2.10.0"' in config) == (True, True)


def test_an_order_that_is_not_known_is_left_out(meshlint: CommandLine) -> None:
    run = meshlint(
        "card", *PINS, "--", "torchrun", "--nproc-per-node", "8", "pretrain_gpt.py", "--num-layers", "4", "..."
    )
    assert "tp ? x cp ? x dp ? x pp ?\n" in run.out
