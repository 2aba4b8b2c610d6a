"""ms-swift's `megatron sft|pt|rlhf`: flags and `--config` YAML with underscores.

Keys are the fields of `MegatronArguments` (swift/megatron/arguments/megatron_args.py:476), from which sources count.
"""

from __future__ import annotations

from meshlint.config.framework import Framework, Spelling
from meshlint.config.frameworks.megatron_core import CORE, DDP, MODEL_PARALLEL, OPTIMIZER, TE, TORCH, TRANSFORMER, named

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
    Spelling("packed_sequences", ("packing", "padding_free"), source=":514; swift/arguments/sft_args.py"),
    Spelling("train_iters", ("train_iters",), source=":484"),
)

FRAMEWORK = Framework(
    name="ms-swift",
    title="ms-swift",
    libraries=(SWIFT, CORE, TE, TORCH),
    spellings=(*named(MODEL_PARALLEL + TRANSFORMER + DDP + OPTIMIZER, "", only=_FLAGS), *_KEYS),
)
