"""ms-swift's `megatron sft|pt|rlhf`: flags and `--config` YAML with underscores.

Keys are the fields of `MegatronArguments` (swift/megatron/arguments/megatron_args.py:476), from which sources count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Framework, Spelling
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
    follows,
    named,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.value import Data, Value, derived_from

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig

SWIFT = "ms-swift"

_FLAGS = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "microbatch_group_size_per_vp_stage",
    "pipeline_model_parallel_layout",
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "context_parallel_size",
    "cp_comm_type",
    "sequence_parallel",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "overlap_p2p_comm",
    "batch_p2p_comm",
    "tp_comm_overlap",
    "overlap_grad_reduce",
    "overlap_param_gather",
    "overlap_param_gather_with_optimizer_step",
    "use_distributed_optimizer",
    "use_megatron_fsdp",
    "data_parallel_sharding_strategy",
    "optimizer",
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "recompute_modules",
    "calculate_per_token_loss",
    "attention_backend",
    "fp16",
    "bf16",
    "fp8_recipe",
    "fp8_param_gather",
    "moe_token_dispatcher_type",
    "moe_enable_deepep",
    "moe_grouped_gemm",
    "moe_shared_expert_overlap",
    "moe_expert_capacity_factor",
    "moe_pad_expert_input_to_capacity",
    "mtp_num_layers",
)
"""Fields that bear megatron-core's own name."""

_KEYS = (
    Spelling("model_id", ("model",), source=":662"),
    Spelling("num_layers_in_first_pipeline_stage", ("decoder_first_pipeline_num_layers",), source=":583"),
    Spelling("num_layers_in_last_pipeline_stage", ("decoder_last_pipeline_num_layers",), source=":584"),
    Spelling("fp8", ("fp8_format",), source=":627"),
    Spelling("fp4", ("fp4_format",), source=":634"),
    Spelling("seq_length", ("max_length",), source="swift/arguments/base_args/template_args.py"),
    Spelling("micro_batch_size", ("micro_batch_size",), source=":478"),
    Spelling("global_batch_size", ("global_batch_size",), source=":479"),
    Spelling("packed_sequences", ("padding_free",), source=":524"),
    Spelling("train_iters", ("train_iters",), source=":484"),
)


def _packs(config: EffectiveConfig, value: Value) -> Value:
    """Amend `packed_sequences`: `packing` switches `padding_free` on (megatron_base_args.py:36)."""
    packing = config.launch.find("packing")
    if packing is None or str(packing.data).lower() in ("false", "none"):
        return value
    return packing if packing.is_unknown else derived_from(True, "packing is on", packing)


def _per_token(config: EffectiveConfig) -> Value | None:
    """Derive `calculate_per_token_loss`: on for language models that are not trained by reinforcement (:759)."""
    for key in ("rlhf_type", "task_type"):
        value = config.launch.find(key)
        if value is not None and value.data not in (None, "causal_lm"):
            return derived_from(False, f"{key} is {value.data}", value)
    return None


def _fine_tunes(config: EffectiveConfig) -> Value | None:
    """Derive `sft`: the verb says so, unless the task has a loss of its own (trainers/trainer.py:48, utils.py)."""
    task = config.launch.find("task_type")
    if config.launch.entry != "megatron sft" or (task is not None and task.data not in (None, "causal_lm")):
        return None
    return follows("sft", *((task,) if task is not None else ())) or entry_says("sft", config.launch)


def _trains(config: EffectiveConfig) -> Value | None:
    """Derive `training`: `megatron export` converts, and runs forward at most."""
    return derived_from(False, "megatron export does not train") if config.launch.entry.endswith("export") else None


def _none_at_one(_: EffectiveConfig, value: Value) -> Value:
    """Amend vpp: 1 is none (:1012)."""
    return value.with_data(None) if value.data == 1 else value


DEFAULTS = (
    Default("sft", False, "the verb"),
    Default("micro_batch_size", 1, ":478"),
    Default("global_batch_size", 16, ":479"),
    Default("recompute_granularity", "selective", ":480"),
    Default("recompute_modules", ("core_attn",), ":483"),
    Default("calculate_per_token_loss", True, ":759"),
    Default("attention_backend", "flash", ":499"),
    Default("packed_sequences", True, ":524, padding_free"),
    Default("use_distributed_optimizer", True, ":575"),
    Default("data_parallel_sharding_strategy", "optim_grads_params", ":578"),
    Default("overlap_p2p_comm", True, ":585"),
    Default("expert_tensor_parallel_size", 1, ":616"),
    Default("moe_token_dispatcher_type", "alltoall", ":642"),
    Default("moe_grouped_gemm", True, ":644"),
    *CORE_DEFAULTS,
)

HABITS: dict[str, Data] = {
    "validates_hierarchical_sizes": False,
    "passes_hierarchical_sizes": False,
    "seq_is_tensor_length": False,
    "pads_each_sequence_to": "2*cp",
    "switches_sp_off_at_tp1": True,
    "checks_tp_overlap": "assert",
    "counts_micro_batches": True,
    "sets_max_connections": True,
    "trains": True,
}
"""Sources: groups swift/megatron/utils/megatron_lm_utils.py:70; pad swift/template/base.py:1582, the whole row to
cp*tp (swift/megatron/utils/utils.py:209); SP :899; overlap :905; environment :796."""

FRAMEWORK = Framework(
    name="ms-swift",
    title="ms-swift",
    libraries=(SWIFT, CORE, TE, TORCH),
    spellings=(*named(MODEL_PARALLEL + TRANSFORMER + DDP + OPTIMIZER, "", only=_FLAGS), *_KEYS),
    defaults=DEFAULTS,
    derive={"calculate_per_token_loss": _per_token, "sft": _fine_tunes, "training": _trains},
    amend={**AMEND, "packed_sequences": _packs, "virtual_pipeline_model_parallel_size": _none_at_one},
    habits=HABITS,
)
