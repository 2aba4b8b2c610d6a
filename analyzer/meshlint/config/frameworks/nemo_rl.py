"""NeMo-RL's Megatron policy: YAML with `policy.megatron_cfg`, and dotlists over it.

A role's prefix is its `megatron_cfg.`, its parent the section around it (`policy.`, `value.`). Sources are
`nemo_rl/models/policy/__init__.py` unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Framework, Role, Spelling, Window
from meshlint.config.frameworks.megatron_bridge import SEQUENCE_SWITCHED_OFF, SIZES_CHECKED
from meshlint.config.frameworks.megatron_core import (
    AMEND,
    CORE,
    DDP,
    MODEL_PARALLEL,
    OPTIMIZER,
    TE,
    TORCH,
    TRANSFORMER,
    entry_says,
    forward_only,
    means,
    named,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.parse import as_bool
from meshlint.config.value import Data, Kind, Value, derived_from, unknown

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig
    from meshlint.config.launch import Launch

BRIDGE = "megatron-bridge"
NEMO_RL = "nemo-rl"

_FIRST_CLASS = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_tensor_parallel_size",
    "expert_model_parallel_size",
    "sequence_parallel",
    "num_layers_in_first_pipeline_stage",
    "num_layers_in_last_pipeline_stage",
    "recompute_granularity",
    "recompute_modules",
    "attention_backend",
    "moe_enable_deepep",
    "moe_token_dispatcher_type",
    "moe_flex_dispatcher_backend",
    "moe_grouped_gemm",
    "moe_shared_expert_overlap",
    "transformer_impl",
    "cuda_graph_impl",
    "cuda_graph_modules",
    "mtp_num_layers",
)
"""Keys of `MegatronConfig` that bear a megatron-core name; all others go through `model_overrides`."""

_KEYS = (
    Spelling("model_id", ("{parent}model_name",), source=":563"),
    Spelling("seq_length", ("{parent}max_total_sequence_length",), source=":587"),
    Spelling("micro_batch_size", ("{parent}train_micro_batch_size",), source=":566"),
    Spelling("global_batch_size", ("{parent}train_global_batch_size",), source=":565"),
    Spelling("packed_sequences", ("{parent}sequence_packing.enabled",), source=":212"),
    Spelling("max_tokens_per_gpu", ("{parent}sequence_packing.train_mb_tokens",), source=":214"),
    Spelling("pad_multiple", ("{parent}make_sequence_length_divisible_by",), source=":586"),
    Spelling("dynamic_batch_size", ("{parent}dynamic_batching.enabled",), source=":584"),
    Spelling("recompute_granularity", ("{role}activation_checkpointing",), means("full"), ":339"),
    Spelling("use_gloo_process_groups", ("{role}use_gloo_process_groups",), source=":436"),
    Spelling("fp8", ("{role}fp8_cfg.fp8",), source="models/megatron/setup.py:1171"),
    Spelling("fp8_recipe", ("{role}fp8_cfg.fp8_recipe",), source="models/megatron/setup.py:1171"),
    Spelling("fp8_param_gather", ("{role}fp8_cfg.fp8_param",), source="models/megatron/setup.py:1171"),
)

ROLES = tuple(Role(name, f"{name}.megatron_cfg.", f"{name}.") for name in ("policy", "value", "teacher"))


def roles(launch: Launch) -> tuple[Role, ...]:
    """Give the roles whose `megatron_cfg.enabled` is true; the others run DTensor, or are not known to run Megatron."""
    return tuple(role for role in ROLES if _on(launch, f"{role.prefix}enabled"))


def _on(launch: Launch, key: str) -> bool:
    value = launch.find(key)
    try:
        return value is not None and not value.is_unknown and as_bool(value.data) is True
    except ValueError:
        return False


def _fine_tunes(config: EffectiveConfig) -> Value | None:
    """Derive `sft`: `run_sft.py`, or a config with `sft:` for its algorithm (nemo_rl/algorithms/sft.py)."""
    return entry_says("sft", config.launch) if "sft" in config.launch.entry.split("_") else None


def _recompute(config: EffectiveConfig, value: Value) -> Value:
    """Amend `recompute_granularity`: nothing is recomputed without `activation_checkpointing` (setup.py:1071)."""
    switch = config.launch.find(f"{config.role.prefix}activation_checkpointing")
    if switch is None or switch.is_unknown:
        return switch or value.with_data(None)
    if not _on(config.launch, f"{config.role.prefix}activation_checkpointing"):
        return derived_from(None, "activation_checkpointing is off", switch)
    given = config.launch.find(f"{config.role.prefix}recompute_granularity")
    return derived_from("full", "activation_checkpointing recomputes all", switch) if given is None else given


def _scaled(key: str, off: Data) -> Callable[[EffectiveConfig, Value], Value]:
    """Amend what `fp8_cfg` gives: nothing of it counts without its `enabled` (v0.6.0 models/megatron/setup.py:502-507).

    v0.4.0 models/policy/megatron_policy_worker.py:615 and v0.7.0 setup.py:871 have the same condition.
    """

    def amend(config: EffectiveConfig, value: Value) -> Value:
        section = f"{config.role.prefix}fp8_cfg."
        given, switch = config.launch.find(f"{section}{key}"), config.launch.find(f"{section}enabled")
        if given is None or not set(given.origins) & set(value.origins):
            return value
        if switch is not None and switch.is_unknown:
            return switch
        if _on(config.launch, f"{section}enabled"):
            return value
        return derived_from(off, "fp8_cfg is not enabled", *(() if switch is None else (switch,)))

    return amend


def _most_tokens(config: EffectiveConfig, value: Value) -> Value:
    """Amend the tokens of a micro-batch: those of dynamic batching, where samples are not packed (lm_policy.py:379)."""
    if config.value("packed_sequences").data is not False or not config.value("dynamic_batch_size").data:
        return value
    return config.launch.find(f"{config.role.parent}dynamic_batching.train_mb_tokens") or value.with_data(None)


def _ranks(config: EffectiveConfig) -> Value | None:
    """Derive the ranks of a role: the launch's are the policy's; teachers have their own (grpo.py:759-905)."""
    ranks = config.launch.world
    if config.role.name == "policy" or ranks is None or any(origin.kind is Kind.OPTION for origin in ranks.origins):
        return None
    return unknown("the ranks of this role are not counted")


def _uniform(data: Data) -> Callable[[EffectiveConfig], Value | None]:
    """Derive method and layers of full recompute, which NeMo-RL sets itself (models/megatron/setup.py:1075)."""

    def derive(config: EffectiveConfig) -> Value | None:
        granularity = config.value("recompute_granularity")
        if granularity.data != "full":
            return None
        return derived_from(data, "full recompute is uniform, a layer at a time", granularity)

    return derive


DEFAULTS = (
    Default("sft", False, "the algorithm"),
    Default("packed_sequences", False, "a policy without sequence_packing"),
    Default("calculate_per_token_loss", True, "models/megatron/setup.py:1322, always"),
    Default("average_in_collective", False, "models/megatron/setup.py:1433, always"),
    *CORE_DEFAULTS,
)

PAD_CHECKED = Window(
    NEMO_RL,
    since="0.6",
    says="the pad of a packed sequence is taken from the config and asserted",
    source="nemo_rl/models/megatron/data.py:557-562 at v0.6.0; common.py:260 at v0.5.0 works it out itself",
)


def _pads(config: EffectiveConfig) -> str:
    """Say what packed sequences are padded to: before 0.6 the framework works it out itself."""
    return "pad_multiple" if config.within(PAD_CHECKED) else "2*cp*tp"


HABITS: dict[str, Data] = {
    "validates_hierarchical_sizes": SIZES_CHECKED,
    "passes_hierarchical_sizes": True,
    "seq_is_tensor_length": False,
    "pads_each_sequence_to": _pads,
    "checks_pad_multiple": PAD_CHECKED,
    "needs_packing_for_cp": True,
    "fixes_loss": True,
    "switches_sp_off_at_tp1": SEQUENCE_SWITCHED_OFF,
    "trains": True,
}
"""Sources: groups and checks through Megatron-Bridge (models/policy/workers/megatron_policy_worker.py:538); the pad
must be a multiple of 2*cp, times tp under SP (models/megatron/data.py:1290); packing models/megatron/setup.py:881;
loss setup.py:1322."""

FRAMEWORK = Framework(
    name="nemo-rl",
    title="NeMo-RL",
    libraries=(NEMO_RL, BRIDGE, CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL + TRANSFORMER, "{role}model_overrides."),
        *named(MODEL_PARALLEL + TRANSFORMER, "{role}", only=_FIRST_CLASS),
        *named(DDP, "{role}distributed_data_parallel_config."),
        *named(OPTIMIZER, "{role}optimizer."),
        *_KEYS,
    ),
    defaults=DEFAULTS,
    derive={
        "training": forward_only("teacher"),
        "sft": _fine_tunes,
        "recompute_method": _uniform("uniform"),
        "recompute_num_layers": _uniform(1),
        "world_size": _ranks,
    },
    roles=roles,
    deciding=(("policy.megatron_cfg.enabled",),),
    habits=HABITS,
    amend={
        **AMEND,
        "recompute_granularity": _recompute,
        "fp8": _scaled("fp8", None),
        "fp8_recipe": _scaled("fp8_recipe", "delayed"),
        "fp8_param_gather": _scaled("fp8_param", False),
        "max_tokens_per_gpu": _most_tokens,
    },
)
