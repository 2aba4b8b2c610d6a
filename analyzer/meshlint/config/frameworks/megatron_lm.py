"""Megatron-LM's command line, `megatron/training/arguments.py`.

Keys are flags without dashes, hyphens as underscores (`--cp-comm-type` is `cp_comm_type`). From core 0.16 most flags
are generated from dataclasses (`ArgumentGroupFactory`) and keep their spelling. Sources are lines of
`core_v0.16.1 megatron/training/arguments.py` unless they say otherwise; those of `megatron_core` are the dataclasses.
"""

from __future__ import annotations

from meshlint.config.framework import Default, Framework, Spelling, Window
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
    negated,
)

# Fields that no flag of their own name sets, or that another name sets.
_NO_FLAG = (
    "add_bias_linear",
    "average_in_collective",
    "batch_p2p_comm",
    "cpu_offloading",
    "fp4",
    "fp8",
    "fp8_dot_product_attention",
    "fp8_multi_head_attention",
    "microbatch_group_size_per_vp_stage",
    "num_layers_in_first_pipeline_stage",
    "num_layers_in_last_pipeline_stage",
    "num_moe_experts",
    "overlap_p2p_comm",
    "recompute_granularity",
    "cuda_graph_impl",
    "cuda_graph_modules",
    "use_megatron_fsdp",
    "use_distributed_optimizer",
    "variable_seq_lengths",
    "virtual_pipeline_model_parallel_size",
)

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
    Spelling("recompute_granularity", ("recompute_granularity",), source="transformer/transformer_config.py:383"),
    Spelling("recompute_granularity", ("recompute_activations",), means("selective"), ":2009"),
    Spelling("overlap_p2p_comm", ("no_overlap_p2p_communication",), negated, ":2232"),
    Spelling("use_distributed_optimizer", ("use_distributed_optimizer",), source=":2283"),
    Spelling("use_megatron_fsdp", ("use_megatron_fsdp", "use_custom_fsdp"), source=":2305; custom in 0.12 and 0.13"),
    Spelling("use_torch_fsdp2", ("use_torch_fsdp2",), source=":2335"),
    Spelling("cuda_graph_impl", ("cuda_graph_impl",), source="transformer/transformer_config.py:776"),
    Spelling("cuda_graph_impl", ("enable_cuda_graph",), means("local"), "core_v0.15.3 arguments.py, deprecated since"),
    Spelling(
        "cuda_graph_impl",
        ("external_cuda_graph",),
        means("transformer_engine"),
        "core_v0.15.3 arguments.py, deprecated since",
    ),
    Spelling("cuda_graph_modules", ("cuda_graph_modules", "cuda_graph_scope"), source=":1430, new name since 0.18"),
)

FRAMEWORK = Framework(
    name="megatron-lm",
    title="Megatron-LM",
    libraries=(CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL, "", without=_NO_FLAG),
        *named(TRANSFORMER, "", without=_NO_FLAG),
        *named(DDP, "", without=_NO_FLAG),
        *named(OPTIMIZER, "", without=_NO_FLAG),
        *_FLAGS,
    ),
    defaults=(
        Default("tensor_model_parallel_size", 1, "core_v0.16.1 megatron/training/arguments.py:2567"),
        Default("context_parallel_size", 1, "core_v0.16.1 megatron/training/arguments.py"),
        Default("cp_comm_type", ("p2p",), "core_v0.16.1", Window(CORE, since="0.10")),
    ),
    habits={"validates_hierarchical_sizes": True},
)
