"""Megatron-LM's command line, `megatron/training/arguments.py`.

Keys are flags without dashes, hyphens as underscores (`--cp-comm-type` is `cp_comm_type`). From core 0.16 most flags
are generated from dataclasses (`ArgumentGroupFactory`) and keep their spelling. Sources are lines of
`core_v0.16.1 megatron/training/arguments.py` unless they say otherwise; those of `megatron_core` are the dataclasses.
Names of dataclass fields that are no flags (`num_moe_experts`) are keys too: `--yaml-cfg` files spell them so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Framework, Spelling, Window
from meshlint.config.frameworks.layout import layout_stages
from meshlint.config.frameworks.megatron_core import (
    AMEND,
    CORE,
    DDP,
    MODEL_PARALLEL,
    OPTIMIZER,
    TE,
    TORCH,
    TRANSFORMER,
    follows,
    heads_where_not_grouped,
    hidden_over_heads,
    means,
    named,
    negated,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.value import Data, Value, derived_from, unknown

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig

_FLAGS = (
    Spelling(
        "virtual_pipeline_model_parallel_size", ("num_virtual_stages_per_pipeline_rank",), source=":2230, since 0.11"
    ),
    Spelling("num_layers_per_virtual_pipeline_stage", ("num_layers_per_virtual_pipeline_stage",), source=":2228"),
    Spelling("num_layers_in_first_pipeline_stage", ("decoder_first_pipeline_num_layers",), source=":2209"),
    Spelling("num_layers_in_last_pipeline_stage", ("decoder_last_pipeline_num_layers",), source=":2213"),
    Spelling(
        "microbatch_group_size_per_vp_stage",
        ("microbatch_group_size_per_virtual_pipeline_stage",),
        source="model_parallel_config.py:343",
    ),
    Spelling(
        "encoder_tensor_model_parallel_size",
        ("encoder_tensor_model_parallel_size",),
        source="core_v0.13.1 arguments.py, gone in 0.14",
    ),
    Spelling(
        "encoder_pipeline_model_parallel_size",
        ("encoder_pipeline_model_parallel_size",),
        source="core_v0.13.1 arguments.py, gone in 0.14",
    ),
    Spelling("use_tp_pp_dp_mapping", ("use_tp_pp_dp_mapping",), source=":2352"),
    Spelling("use_gloo_process_groups", ("disable_gloo_process_groups",), negated, ":2020, since 0.12"),
    Spelling("encoder_num_layers", ("encoder_num_layers",), source=":1626"),
    Spelling("decoder_num_layers", ("decoder_num_layers",), source=":1628"),
    Spelling("group_query_attention", ("group_query_attention",), source=":1630"),
    Spelling("seq_length", ("seq_length", "encoder_seq_length"), source=":2482, :2484"),
    Spelling("max_position_embeddings", ("max_position_embeddings",), source=":1642"),
    Spelling("position_embedding_type", ("position_embedding_type",), source=":1645"),
    Spelling("position_embedding_type", ("use_rotary_position_embeddings",), means("rope"), "main :2415, deprecated"),
    Spelling(
        "hybrid_layer_pattern", ("hybrid_layer_pattern", "hybrid_override_pattern"), source=":2828, new name since 0.17"
    ),
    Spelling("hybrid_attention_ratio", ("hybrid_attention_ratio",), source=":2822, gone in 0.17"),
    Spelling("hybrid_mlp_ratio", ("hybrid_mlp_ratio",), source=":2825, gone in 0.17"),
    Spelling("heterogeneous_layers_config_path", ("heterogeneous_layers_config_path",), source=":2799, since 0.12"),
    Spelling("num_moe_experts", ("num_experts",), source=":2691"),
    Spelling("add_bias_linear", ("disable_bias_linear",), negated, "transformer/transformer_config.py:161"),
    Spelling("spec", ("spec",), source=":2815"),
    Spelling("fp8", ("fp8_format",), source="transformer/transformer_config.py:429"),
    Spelling("fp4", ("fp4_format",), source="transformer/transformer_config.py:510"),
    Spelling("micro_batch_size", ("micro_batch_size",), source="main training/config/training_config.py:11"),
    Spelling("global_batch_size", ("global_batch_size",), source="main training/config/training_config.py:15"),
    Spelling("rampup_batch_size", ("rampup_batch_size",), source="main training/config/training_config.py:20"),
    Spelling(
        "step_batch_size_schedule", ("step_batch_size_schedule",), source="main training/config/training_config.py:32"
    ),
    Spelling(
        "decrease_batch_size_if_needed",
        ("decrease_batch_size_if_needed",),
        source="main training/config/training_config.py:42",
    ),
    Spelling("train_iters", ("train_iters",), source="main training/config/training_config.py:64"),
    Spelling("training", ("skip_train",), negated, "main training/config/training_config.py:141"),
    Spelling("sft", ("sft",), source=":2899, since 0.13"),
    Spelling("packed_sequences", ("rl_use_sequence_packing",), source=":1923, since 0.15"),
    Spelling("create_attention_mask_in_dataloader", ("no_create_attention_mask_in_dataloader",), negated, ":2505"),
    Spelling("average_in_collective", ("ddp_average_in_collective",), source=":2262"),
    Spelling("use_checkpoint_args", ("use_checkpoint_args",), source="main training/config/training_config.py:474"),
    Spelling(
        "use_mp_args_from_checkpoint_args",
        ("use_mp_args_from_checkpoint_args",),
        source="main training/config/training_config.py:477",
    ),
    Spelling("recompute_granularity", ("recompute_activations",), means("selective"), ":2009"),
    Spelling("overlap_p2p_comm", ("no_overlap_p2p_communication",), negated, ":2232"),
    Spelling("use_megatron_fsdp", ("use_megatron_fsdp", "use_custom_fsdp"), source=":2305; custom in 0.12 and 0.13"),
    Spelling("use_torch_fsdp2", ("use_torch_fsdp2",), source=":2335"),
    Spelling("cuda_graph_impl", ("enable_cuda_graph",), means("local"), "core_v0.15.3 arguments.py, deprecated since"),
    Spelling(
        "cuda_graph_impl",
        ("external_cuda_graph",),
        means("transformer_engine"),
        "core_v0.15.3 arguments.py, deprecated since",
    ),
    Spelling("cuda_graph_modules", ("cuda_graph_scope",), source=":1430, deprecated since 0.18"),
)

_ARGS = "core_v0.16.1 megatron/training/arguments.py"

DEFAULTS = (
    Default("overlap_p2p_comm", True, f"{_ARGS}:2232"),
    Default("group_query_attention", False, f"{_ARGS}:1630"),
    Default("num_query_groups", 1, "core_v0.16.1 transformer/transformer_config.py:124, the flag's own default"),
    Default("position_embedding_type", "learned_absolute", f"{_ARGS}:1645"),
    Default("create_attention_mask_in_dataloader", True, f"{_ARGS}:2505"),
    Default("sft", False, f"{_ARGS}:2899"),
    Default("decrease_batch_size_if_needed", False, "main megatron/training/config/training_config.py:42"),
    Default("use_checkpoint_args", False, "main megatron/training/config/training_config.py:474"),
    Default("use_mp_args_from_checkpoint_args", False, "main megatron/training/config/training_config.py:477"),
    Default("qk_head_dim", 128, f"{_ARGS}:2729"),
    Default("qk_pos_emb_head_dim", 64, f"{_ARGS}:2731"),
    Default("v_head_dim", 128, f"{_ARGS}:2733"),
    Default("packed_sequences", False, f"{_ARGS}:1923"),
    Default(
        "data_parallel_sharding_strategy",
        "optim_grads_params",
        "core_v0.18.2 megatron/training/arguments.py",
        Window(CORE, since="0.18"),
    ),
    Default("hybrid_attention_ratio", 0.0, f"{_ARGS}:2822", Window(CORE, until="0.17")),
    Default("hybrid_mlp_ratio", 0.0, f"{_ARGS}:2825", Window(CORE, until="0.17")),
    *CORE_DEFAULTS,
)

SFT_PACKS = Window(CORE, since="0.16", says="--sft packs", source="core_v0.16.1 training/datasets/sft_dataset.py:117")
PATTERN_RULES = Window(
    CORE,
    since="0.17",
    says="the pattern gives the layers and, by its `|`, the stages",
    source="core_v0.17.1 training/arguments.py:694",
)


def virtual_stages(config: EffectiveConfig) -> Value | None:
    """Derive vpp from the layout, the layers of a chunk, or the hybrid pattern (arguments.py:515-556)."""
    pp = config.value("pipeline_model_parallel_size")
    layout = config.value("pipeline_model_parallel_layout")
    if layout.is_unknown or layout.data is not None:
        return follows("vpp", layout, pp) or _from_layout(layout, pp)
    chunk = config.value("num_layers_per_virtual_pipeline_stage")
    if chunk.is_unknown or chunk.data is not None:
        return _from_chunk(config, chunk, pp)
    return _from_pattern(config, pp)


def _from_layout(layout: Value, pp: Value) -> Value:
    stages = layout_stages(layout.data) if isinstance(layout.data, str) else None
    if stages is None or not isinstance(pp.data, int) or pp.data < 1:
        return unknown("the stages of the pipeline layout cannot be counted", *layout.origins)
    chunks = stages // pp.data
    return derived_from(chunks if chunks > 1 else None, "stages of the layout over pp", layout, pp)


def _from_chunk(config: EffectiveConfig, chunk: Value, pp: Value) -> Value | None:
    layers = config.value("num_layers")
    stop = follows("vpp", chunk, pp, layers)
    if stop is not None:
        return stop
    if not all(isinstance(v.data, int) and v.data > 0 for v in (chunk, pp, layers)):
        return unknown("vpp follows from layers, pp and the layers of a chunk, and one of them is not given")
    extra = [config.value(f"account_for_{part}_in_pipeline_split").data for part in ("embedding", "loss")]
    chunks = (layers.data + sum(map(bool, extra))) // pp.data // chunk.data
    return derived_from(chunks if chunks > 1 else None, "layers / pp / layers of a chunk", chunk, pp, layers)


def _from_pattern(config: EffectiveConfig, pp: Value) -> Value | None:
    pattern = config.value("hybrid_layer_pattern")
    stop = follows("vpp", pattern)
    if stop is not None or not isinstance(pattern.data, str):
        return stop
    segments = _main_pattern(pattern.data).count("|") + 1
    if segments == 1 or not isinstance(pp.data, int) or pp.data < 1:
        return None
    chunks = segments // pp.data
    return derived_from(chunks if chunks > 1 else None, "segments of the hybrid pattern over pp", pattern, pp)


def _main_pattern(pattern: str) -> str:
    """Leave out the multi-token prediction layers, which stand behind a slash."""
    return pattern.split("/", 1)[0]


def layers(config: EffectiveConfig, value: Value) -> Value:
    """Amend `num_layers`: a hybrid pattern gives it, or the encoder's layers do (arguments.py:786, main :788)."""
    if config.value("heterogeneous_layers_config_path").data is not None:
        return unknown("the layers stand in the heterogeneous layers config", *value.origins)
    pattern = config.value("hybrid_layer_pattern")
    if isinstance(pattern.data, str):
        count = len(_main_pattern(pattern.data).replace("|", ""))
        if value.data is None or (value.data != count and config.within(PATTERN_RULES)):
            return derived_from(count, "layers of the hybrid pattern", pattern)
        return value
    if value.data is None and not value.is_unknown:
        encoder = config.value("encoder_num_layers")
        return encoder if encoder.is_set else _from_checkpoint(config, value)
    return value


def groups(config: EffectiveConfig, value: Value) -> Value:
    """Amend `num_query_groups`: without --group-query-attention the flag is not used (arguments.py:1348).

    A `--yaml-cfg` file gives it directly, null for one group a head.
    """
    if not _own_arguments(config):
        return value if value.is_set and value.data is not None else heads_where_not_grouped(config) or value
    grouped = config.value("group_query_attention")
    stop = follows("group_query_attention", grouped) or _checkpoint_forces(config, value)
    if stop is not None:
        return stop
    return value if grouped.data else (heads_where_not_grouped(config) or value.with_data(None))


def reset_at_one(_: EffectiveConfig, value: Value) -> Value:
    """Amend vpp: one chunk is no interleaving (arguments.py:527, :554)."""
    return value.with_data(None) if value.data == 1 else value


def overlaps_p2p(config: EffectiveConfig, value: Value) -> Value:
    """Amend `overlap_p2p_comm`: without interleaving it is switched off (arguments.py:585)."""
    vpp = config.value("virtual_pipeline_model_parallel_size")
    if vpp.is_unknown:
        return unknown(f"it follows vpp: {vpp.reason}", *vpp.origins)
    return value if vpp.data is not None else value.with_data(False)


def packs(config: EffectiveConfig) -> Value | None:
    """Derive `packed_sequences`: fine-tuning data and hybrid context parallel pack their rows."""
    hybrid = config.value("hybrid_context_parallel")
    if hybrid.data:
        return derived_from(True, "hybrid context parallel packs", hybrid)
    sft = config.value("sft")
    stop = follows("packed_sequences", sft, hybrid)
    if stop is not None or not sft.data:
        return stop
    return derived_from(True, "--sft packs", sft) if config.within(SFT_PACKS) else None


def is_hybrid(config: EffectiveConfig) -> Value | None:
    """Derive `is_hybrid_model`: a pattern of layers is one (arguments.py:2828)."""
    pattern = config.value("hybrid_layer_pattern")
    return derived_from(True, "a hybrid layer pattern is given", pattern) if pattern.data is not None else None


def splits_prediction(config: EffectiveConfig) -> Value | None:
    """Derive `mtp_num_layers`: parts of the hybrid pattern behind a slash (main arguments.py:864)."""
    pattern = config.value("hybrid_layer_pattern")
    if not isinstance(pattern.data, str) or "/" not in pattern.data:
        return None
    return derived_from(pattern.data.count("/"), "prediction layers of the hybrid pattern", pattern)


def _checkpoint_forces(config: EffectiveConfig, value: Value) -> Value | None:
    switch = config.value("use_checkpoint_args")
    if switch.data:
        return unknown("the checkpoint says (--use-checkpoint-args)", *value.origins)
    return follows("use_checkpoint_args", switch)


def _forced(config: EffectiveConfig, value: Value) -> Value:
    """Amend what the checkpoint replaces even where it is given (main training/checkpointing.py:2272-2340)."""
    return _checkpoint_forces(config, value) or value


def _from_checkpoint(config: EffectiveConfig, value: Value) -> Value:
    """Amend what the checkpoint gives where nothing is written (main training/checkpointing.py:2257)."""
    return value if value.is_set else (_checkpoint_forces(config, value) or value)


def _pattern(config: EffectiveConfig, value: Value) -> Value:
    """Amend `hybrid_layer_pattern`: a hybrid model's may come from its checkpoint; others have none."""
    if value.is_set or not config.value("use_checkpoint_args").data:
        return value
    words = (config.launch.entry, *(w.key for w in config.launch.writes))
    hybrid = any("hybrid" in word or "mamba" in word for word in words)
    return _from_checkpoint(config, value) if hybrid else value


def _parallel_from_checkpoint(config: EffectiveConfig, value: Value) -> Value:
    """Amend what --use-mp-args-from-checkpoint-args replaces (main training/checkpointing.py:2361)."""
    switch = config.value("use_mp_args_from_checkpoint_args")
    forced = _checkpoint_forces(config, value) if switch.data else None
    return forced or value


def _own_arguments(config: EffectiveConfig) -> bool:
    """Say whether `validate_args` runs: not with --yaml-cfg, which has a validator of its own (arguments.py:105)."""
    return config.launch.find("yaml_cfg") is None


_FORWARD_ONLY = frozenset(
    {"inference", "generate", "generation", "export", "convert", "quantize", "prune", "mmlu", "evaluate", "eval"}
)
"""Words in the names of entries that run no backward pass (core_v0.16.1 examples/inference, examples/post_training,
tools)."""


def trains(config: EffectiveConfig) -> Value | None:
    """Derive `training`: some entries only run forward, by their names."""
    entry = config.launch.entry
    words = entry.lower().removesuffix(".py").replace("/", "_").replace(".", "_").split("_")
    return derived_from(False, f"{entry} does not train") if _FORWARD_ONLY & set(words) else None


DERIVE: dict[str, Callable[[EffectiveConfig], Value | None]] = {
    "virtual_pipeline_model_parallel_size": virtual_stages,
    "kv_channels": hidden_over_heads,
    "packed_sequences": packs,
    "is_hybrid_model": is_hybrid,
    "mtp_num_layers": splits_prediction,
    "training": trains,
}

AMENDS: dict[str, Callable[[EffectiveConfig, Value], Value]] = {
    **AMEND,
    "num_layers": layers,
    "num_query_groups": groups,
    "virtual_pipeline_model_parallel_size": reset_at_one,
    "overlap_p2p_comm": overlaps_p2p,
    "hidden_size": _from_checkpoint,
    "ffn_hidden_size": _from_checkpoint,
    "num_attention_heads": _from_checkpoint,
    "kv_channels": _from_checkpoint,
    "seq_length": _from_checkpoint,
    "max_position_embeddings": _from_checkpoint,
    "hybrid_layer_pattern": _pattern,
    "position_embedding_type": _forced,
    "group_query_attention": _forced,
    "add_bias_linear": _forced,
    "mtp_num_layers": _forced,
    "num_moe_experts": _forced,
    "moe_router_topk": _forced,
    "moe_layer_freq": _forced,
    "tensor_model_parallel_size": _parallel_from_checkpoint,
    "pipeline_model_parallel_size": _parallel_from_checkpoint,
    "expert_model_parallel_size": _parallel_from_checkpoint,
}

HABITS: dict[str, Data] = {
    "validates_arguments": _own_arguments,
    "validates_hierarchical_sizes": _own_arguments,
    "passes_hierarchical_sizes": True,
    "unwraps_single_comm_type": _own_arguments,
    "seq_is_tensor_length": True,
    "checks_seq_for_cp": _own_arguments,
    "pads_each_sequence_to": "2*cp",
    "switches_sp_off_at_tp1": True,
    "checks_tp_overlap": "assert",
    "checks_param_gather": _own_arguments,
    "checks_layers_per_stage": _own_arguments,
    "checks_world": True,
    "counts_micro_batches": True,
    "trains": True,
}
"""Sources, at core_v0.16.1: validate_args is arguments.py:111, sizes :403, comm type :1361, sequence :818, SP :913 (and
yaml_arguments.py:214), tp overlap :915, layers :570, parameter gather :597, world :317; initialize.py passes the
sizes; the pad is training/datasets/sft_dataset.py:132, for --sft, since 0.16."""

FRAMEWORK = Framework(
    name="megatron-lm",
    title="Megatron-LM",
    libraries=(CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL, ""),
        *named(TRANSFORMER, ""),
        *named(DDP + OPTIMIZER, "", without=("average_in_collective", "use_megatron_fsdp")),
        *_FLAGS,
    ),
    defaults=DEFAULTS,
    derive=DERIVE,
    amend=AMENDS,
    habits=HABITS,
)
