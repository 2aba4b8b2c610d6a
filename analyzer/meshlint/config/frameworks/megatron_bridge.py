"""Megatron-Bridge: a `ConfigContainer`, written by Python recipes, YAML and dotlists.

Keys are paths from the container: `model.context_parallel_size`, `ddp.overlap_grad_reduce`. Provider arguments
(`Provider(context_parallel_size=2)`) are `model.` keys too. Sources count from `src/megatron/bridge` at main
067f987df; fields of megatron-core's dataclasses have theirs in `megatron_core`.
"""

from __future__ import annotations

from meshlint.config.framework import Framework, Spelling
from meshlint.config.frameworks.megatron_core import (
    CORE,
    DDP,
    MODEL_PARALLEL,
    OPTIMIZER,
    TE,
    TORCH,
    TRANSFORMER,
    means,
    named,
)

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
    Spelling(
        "use_megatron_fsdp", ("ddp.use_megatron_fsdp", "dist.use_megatron_fsdp"), source="training/config.py:1110"
    ),
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
        ("dataset.enable_offline_packing", "dataset.enable_in_batch_packing", "dataset.pack_sequences_in_batch"),
        source="data/builders/gpt_sft.py",
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
        *_KEYS,
    ),
)
