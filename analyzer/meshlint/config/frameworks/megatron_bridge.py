"""Megatron-Bridge: a `ConfigContainer`, written by Python recipes, YAML and dotlists.

Keys are paths from the container: `model.context_parallel_size`, `ddp.overlap_grad_reduce`. Provider arguments
(`Provider(context_parallel_size=2)`) are `model.` keys too. Sources count from `src/megatron/bridge` at main
067f987df; fields of megatron-core's dataclasses have theirs in `megatron_core`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Framework, Spelling, Window
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
    means,
    named,
    tp_where_none,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.parse import as_bool, as_int
from meshlint.config.value import Data, Value, derived_from, unknown

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig

BRIDGE = "megatron-bridge"

_KEYS = (
    Spelling("model_id", ("model.hf_model_id",), source="models/gpt_provider.py:173"),
    Spelling(
        "seq_length",
        ("model.seq_length", "dataset.seq_length", "dataset.sequence_length"),
        source="models/gpt_provider.py:160; training/config.py:232",
    ),
    Spelling("position_embedding_type", ("model.position_embedding_type",), source="models/gpt_provider.py:142"),
    Spelling("max_position_embeddings", ("model.max_position_embeddings",), source="a provider's own field"),
    Spelling(
        "hybrid_layer_pattern",
        ("model.hybrid_layer_pattern", "model.hybrid_override_pattern"),
        source="models/mamba/mamba_provider.py",
    ),
    Spelling("hybrid_attention_ratio", ("model.hybrid_attention_ratio",), source="models/mamba/mamba_provider.py"),
    Spelling("hybrid_mlp_ratio", ("model.hybrid_mlp_ratio",), source="models/mamba/mamba_provider.py"),
    Spelling(
        "cuda_graph_modules",
        ("model.cuda_graph_scope",),
        source="core_v0.16.1 transformer/transformer_config.py:760, before 0.18",
    ),
    Spelling(
        "cuda_graph_impl",
        ("model.enable_cuda_graph",),
        means("local"),
        "core_v0.14.0 transformer/transformer_config.py",
    ),
    Spelling(
        "cuda_graph_impl",
        ("model.external_cuda_graph",),
        means("transformer_engine"),
        "core_v0.14.0 transformer/transformer_config.py",
    ),
    Spelling("use_decentralized_pg", ("dist.use_decentralized_pg",), source="training/config.py:162, since 0.3"),
    Spelling(
        "use_gloo_process_groups", ("dist.use_gloo_process_groups",), source="training/config.py, DistributedInitConfig"
    ),
    Spelling(
        "use_tp_pp_dp_mapping", ("dist.use_tp_pp_dp_mapping",), source="training/config.py, DistributedInitConfig"
    ),
    Spelling("use_megatron_fsdp", ("dist.use_megatron_fsdp",), source="training/config.py:1110"),
    Spelling("use_torch_fsdp2", ("dist.use_torch_fsdp2",), source="training/config.py, DistributedInitConfig"),
    Spelling("micro_batch_size", ("train.micro_batch_size",), source="training/config.py:442"),
    Spelling("global_batch_size", ("train.global_batch_size",), source="training/config.py:442"),
    Spelling("rampup_batch_size", ("train.rampup_batch_size",), source="training/config.py:442"),
    Spelling(
        "decrease_batch_size_if_needed", ("train.decrease_batch_size_if_needed",), source="training/config.py:442"
    ),
    Spelling("train_iters", ("train.train_iters",), source="training/config.py:442"),
    Spelling("mixed_precision", ("mixed_precision",), source="training/config.py:1000"),
    Spelling("fp8_recipe", ("mixed_precision.fp8_recipe",), source="training/mixed_precision.py"),
    Spelling("fp8", ("mixed_precision.fp8",), source="training/mixed_precision.py"),
    Spelling(
        "fp8_dot_product_attention",
        ("mixed_precision.fp8_dot_product_attention",),
        source="training/mixed_precision.py",
    ),
    Spelling(
        "packed_sequences",
        ("dataset.enable_offline_packing", "dataset.enable_in_batch_packing"),
        source="data/builders/gpt_sft.py:130, since 0.6",
    ),
    Spelling(
        "packed_sequences",
        ("dataset.pack_sequences_in_batch",),
        source="v0.5.0 training/config.py:1161, gone in 0.6",
    ),
    Spelling(
        "pad_multiple",
        ("dataset.offline_packing_specs.pad_seq_to_mult", "dataset.packed_sequence_specs.pad_seq_to_mult"),
        source="data/packing/config.py:27",
    ),
    Spelling(
        "pad_cu_seqlens",
        ("dataset.offline_packing_specs.pad_cu_seqlens", "dataset.packed_sequence_specs.pad_cu_seqlens"),
        source="data/packing/config.py:27",
    ),
    Spelling("pad_to_max_length", ("dataset.dataset_kwargs.pad_to_max_length",), source="data/datasets/gpt_sft.py"),
)

_OVERLAP = (
    "tp_comm_overlap",
    "overlap_p2p_comm",
    "batch_p2p_comm",
    "delay_wgrad_compute",
    "overlap_moe_expert_parallel_comm",
    "defer_embedding_wgrad_compute",
    "overlap_grad_reduce",
    "overlap_param_gather",
    "overlap_param_gather_with_optimizer_step",
)
"""Fields of `CommOverlapConfig` (training/comm_overlap.py:378), which win over the model's own."""

_FINE_TUNING = frozenset(
    {
        "GPTSFTDatasetConfig",
        "FinetuningDatasetConfig",
        "HFDatasetConfig",
        "DirectHFSFTDatasetConfig",
        "EnergonDatasetConfig",
        "MockVLMSFTDatasetConfig",
    }
)
"""Dataset configs that Bridge takes for fine-tuning (training/config.py:1579).

Before 0.6 it is FinetuningDatasetConfig and its subclass HFDatasetConfig (v0.5.0 training/config.py:1317).
"""
_PRETRAINING = frozenset({"GPTDatasetConfig", "MockGPTDatasetConfig", "GPTFIMDatasetConfig"})


def _fine_tunes(data: Data) -> Data:
    """Tell by the class of the dataset config; raises ValueError for a class that is in neither list."""
    name = str(data).rsplit(".", 1)[-1]
    if name in _FINE_TUNING:
        return True
    if name in _PRETRAINING:
        return False
    raise ValueError(f"it is not known whether {name} is fine-tuning data")


ENERGON_BUFFER = "dataset.packing_buffer_size"


def _packs(config: EffectiveConfig) -> Value | None:
    """Derive `packed_sequences`: a packed size in the specs packs, before 0.6 without a switch beside it.

    So does a packing buffer of Energon, after 0.6 (067f987df training/config.py:1270, :1367).
    """
    for key in ("dataset.packed_sequence_specs.packed_sequence_size", ENERGON_BUFFER):
        size = config.launch.find(key)
        if size is not None and size.is_unknown:
            return size
        if size is not None and _positive(size.data):
            return derived_from(True, f"{key.split('.')[1]} is given", size)
    return None


def _positive(data: Data) -> bool:
    try:
        number = as_int(data)
    except ValueError:
        return False
    return isinstance(number, int) and number > 0


_PRECISIONS: dict[str, tuple[str | None, str, bool, str | None]] = {
    "bf16_mixed": (None, "tensorwise", False, None),
    "fp16_mixed": (None, "tensorwise", False, None),
    "fp8_delayed_scaling_mixed": ("hybrid", "delayed", True, None),
    "mxfp8_mixed": ("e4m3", "mxfp8", True, None),
    "fp8_current_scaling_mixed": ("hybrid", "tensorwise", True, None),
    "fp8_subchannel_scaling_mixed": ("hybrid", "blockwise", False, None),
    "nvfp4_mixed": (None, "tensorwise", False, "e2m1"),
}
"""What a named precision recipe sets: fp8, fp8_recipe, fp8_param_gather, fp4 (training/mixed_precision.py:184-440)."""
_PRECISION_FIELDS = ("fp8", "fp8_recipe", "fp8_param_gather", "fp4")


def _precision(at: int) -> Callable[[EffectiveConfig, Value], Value]:
    """Amend a field of FP8 or FP4: a named precision recipe overwrites the model's own (mixed_precision.py:138)."""

    def amend(config: EffectiveConfig, value: Value) -> Value:
        recipe = config.launch.find("mixed_precision")
        if recipe is None or not isinstance(recipe.data, str):
            return value
        word = recipe.data.rsplit("_with_", 1)[-1]
        if word not in _PRECISIONS:
            return value
        data: Data = _PRECISIONS[word][at]
        if at == 1 and recipe.data.startswith("nanov2_"):
            data = "blockwise"
        return derived_from(data, f"the precision recipe {recipe.data}", recipe)

    return amend


def _recipe(config: EffectiveConfig) -> bool:
    """Say whether the entry validates: a recipe or `pretrain` does, a provider that builds its own groups does not."""
    return config.launch.entry != "provider"


def _validates_sizes(config: EffectiveConfig) -> bool:
    return _recipe(config) and config.within(SIZES_CHECKED)


def _pads(config: EffectiveConfig) -> str:
    """Say what packed sequences are padded to: packing in the batch pads by itself (main, training/config.py:1359)."""
    keys = ("dataset.enable_in_batch_packing", "dataset.pack_sequences_in_batch", ENERGON_BUFFER)
    values = [value for key in keys if (value := config.launch.find(key)) is not None]
    return (
        "lcm(2*cp,cp*tp)"
        if any(v.is_unknown or v.data not in (False, None, "false") for v in values)
        else "pad_multiple"
    )


SIZES_CHECKED = Window(
    BRIDGE, since="0.4", says="sizes are validated", source="Megatron-Bridge v0.4.0 training/config.py:1192"
)

PAD_MENDED = Window(
    BRIDGE,
    since="0.6",
    says="run_recipe.py makes the pad anew from the final sizes",
    source="v0.6.0 scripts/training/recipe_runner.py:401, called at run_recipe.py:513; absent at v0.5.1",
)


def _mended(config: EffectiveConfig) -> bool:
    """Say whether the run script would mend the pad of a recipe that is judged by itself."""
    return config.launch.entry == "recipe" and config.within(PAD_MENDED)


SEQUENCE_SWITCHED_OFF = Window(
    BRIDGE,
    since="0.4",
    says="sequence parallelism with tp = 1 is switched off",
    source="v0.4.0 models/transformer_config.py:116, in finalize; absent at v0.3.1, where megatron-core raises",
)

EXPERTS_WHOLE = Window(
    BRIDGE,
    since="0.6",
    says="with ep above 1, an unset etp is 1",
    source="v0.6.0 models/transformer_config.py:80-88, called in finalize :178; absent at v0.5.1",
)


def _expert_tp(config: EffectiveConfig, value: Value) -> Value:
    """Amend `expert_tensor_parallel_size`: None is tp, from 0.6 on 1 where ep is above 1."""
    if value.is_unknown or value.data is not None:
        return value
    ep = config.value("expert_model_parallel_size")
    if ep.is_unknown or (isinstance(ep.data, int) and ep.data > 1 and config.within(EXPERTS_WHOLE)):
        return ep if ep.is_unknown else derived_from(1, "etp is 1 where ep is above 1", ep)
    return tp_where_none(config, value)


_BRIDGES_SET = (
    "attention_dropout",
    "moe_enable_deepep",
    "moe_expert_capacity_factor",
    "moe_flex_dispatcher_backend",
    "moe_pad_expert_input_to_capacity",
    "moe_shared_expert_overlap",
    "moe_token_dispatcher_type",
    "variable_seq_lengths",
)
"""Fields that the code for one model family sets on its provider (models/qwen/qwen3_moe_bridge.py:67 and others)."""


def _set_by_bridge(config: EffectiveConfig) -> Value | None:
    """Derive what a model's own bridge may set: unknown where the model is named, else megatron-core's default."""
    model = config.value("model_id")
    if model.data is None and not model.is_unknown:
        return None
    return unknown("Megatron-Bridge's code for the model may set it", *model.origins)


def _either(*keys: str) -> Callable[[EffectiveConfig, Value], Value]:
    """Amend a switch of both the wrapper and the optimizer: on in one, it is on in both (training/config.py:2101)."""

    def amend(config: EffectiveConfig, value: Value) -> Value:
        if value.is_unknown or value.data:
            return value
        given = [found for key in keys if (found := config.launch.find(key)) is not None]
        stop = follows("the other of the two", *given)
        return stop or next((found.with_data(True) for found in given if _on(found)), value)

    return amend


def _vision_splits(config: EffectiveConfig, value: Value) -> Value:
    """Amend `sequence_parallel`: Qwen3-VL's provider turns it on (models/qwen_vl/qwen3_vl_provider.py:306;
    v0.2.0 :261)."""
    model, tp = config.value("model_id"), config.value("tensor_model_parallel_size")
    if value.data or "qwen3-vl" not in str(model.data).lower() or not isinstance(tp.data, int) or tp.data <= 1:
        return value
    return derived_from(True, "the provider of Qwen3-VL turns it on", model, tp)


def _trains(config: EffectiveConfig) -> Value | None:
    """Derive `training`: a program that builds groups from a provider, or loads a model, may do anything with it."""
    entry = config.launch.entry
    if entry in ("provider", "load"):
        return unknown("whether a program that makes its own model trains it is not followed")
    return None


def _on(value: Value) -> bool:
    try:
        return as_bool(value.data) is True
    except ValueError:
        return False


DEFAULTS = (
    Default("seq_length", 1024, "models/gpt_provider.py:160"),
    Default("position_embedding_type", "learned_absolute", "models/gpt_provider.py:142"),
    Default("moe_grouped_gemm", False, "models/gpt_provider.py:188"),
    Default("use_decentralized_pg", False, "training/config.py:162"),
    Default("packed_sequences", False, "data/builders/gpt_sft.py:130"),
    Default("pad_multiple", 1, "data/packing/config.py:39"),
    Default("pad_cu_seqlens", False, "data/packing/config.py:37"),
    Default("pad_to_max_length", False, "data/datasets/gpt_sft.py"),
    Default("decrease_batch_size_if_needed", False, "training/config.py:442"),
    *CORE_DEFAULTS,
)

HABITS: dict[str, Data] = {
    "validates_hierarchical_sizes": _validates_sizes,
    "passes_hierarchical_sizes": _recipe,
    "seq_is_tensor_length": True,
    "checks_seq_for_cp": _recipe,
    "pads_each_sequence_to": _pads,
    "run_script_mends_pad": _mended,
    "validates_sft_loss": _recipe,
    "checks_tp_overlap": "off",
    "checks_world": _recipe,
    "counts_micro_batches": _recipe,
    "switches_sp_off_at_tp1": SEQUENCE_SWITCHED_OFF,
    "trains": True,
}
"""Sources, at main: sizes training/initialize.py:811 (models/model_provider.py:323 leaves them out), sequence
training/config.py:1575 (since 0.1), loss :1591 (since 0.1), overlap training/comm_overlap.py:442, world
config.py:1024 (v0.2.2 :1139). In-batch packing
(main, 0.6) pads by itself: `enable_in_batch_packing` makes the pad lcm(2cp, cp*tp) (training/config.py:1359)."""

FRAMEWORK = Framework(
    name="megatron-bridge",
    title="Megatron-Bridge",
    libraries=(BRIDGE, CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL, "model."),
        *named(TRANSFORMER, "model."),
        *named(DDP, "ddp."),
        *named(OPTIMIZER, "optimizer."),
        *named(MODEL_PARALLEL + DDP + OPTIMIZER, "comm_overlap.", only=_OVERLAP),
        Spelling("sft", ("dataset",), _fine_tunes, "training/config.py:1579"),
        *_KEYS,
    ),
    defaults=DEFAULTS,
    derive={"packed_sequences": _packs, "training": _trains, **dict.fromkeys(_BRIDGES_SET, _set_by_bridge)},
    amend={
        **AMEND,
        "expert_tensor_parallel_size": _expert_tp,
        "sequence_parallel": _vision_splits,
        "use_distributed_optimizer": _either("ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"),
        **{name: _precision(at) for at, name in enumerate(_PRECISION_FIELDS)},
    },
    habits=HABITS,
)
