"""NeMo-RL's Megatron policy: YAML with `policy.megatron_cfg`, and dotlists over it.

A role's prefix is its `megatron_cfg.`, its parent the section around it (`policy.`, `value.`). Sources are
`nemo_rl/models/policy/__init__.py` unless they say otherwise.
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
    Spelling("train_iters", ("{role}train_iters",), source="models/megatron/setup.py:1312"),
)

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
)
