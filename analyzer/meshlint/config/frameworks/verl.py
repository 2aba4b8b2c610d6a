"""verl's Megatron engine: Hydra YAML and dotlists.

A role's prefix is the path of its engine config (`actor_rollout_ref.actor.megatron.`, `critic.megatron.`, `engine.` of
the SFT trainer), its parent the section around it. Sources count from `verl/` at main 1dda039b9.
`override_transformer_config` reaches the model's `TransformerConfig` and nothing else: parallel sizes there are
fields of their own (`override_*`), since the process groups do not follow them.
"""

from __future__ import annotations

from meshlint.config.framework import Framework, Spelling
from meshlint.config.frameworks.megatron_core import CORE, DDP, MODEL_PARALLEL, TE, TORCH, TRANSFORMER, means, named

VERL = "verl"

_SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "sequence_parallel",
)
_ENGINE = "trainer/config/engine/megatron.yaml"

_KEYS = (
    Spelling("tensor_model_parallel_size", ("{role}tensor_model_parallel_size",), source=_ENGINE),
    Spelling("pipeline_model_parallel_size", ("{role}pipeline_model_parallel_size",), source=_ENGINE),
    Spelling("virtual_pipeline_model_parallel_size", ("{role}virtual_pipeline_model_parallel_size",), source=_ENGINE),
    Spelling("context_parallel_size", ("{role}context_parallel_size",), source=_ENGINE),
    Spelling("expert_model_parallel_size", ("{role}expert_model_parallel_size",), source=_ENGINE),
    Spelling("expert_tensor_parallel_size", ("{role}expert_tensor_parallel_size",), source=_ENGINE),
    Spelling("sequence_parallel", ("{role}sequence_parallel",), source=_ENGINE),
    Spelling("use_distributed_optimizer", ("{role}use_distributed_optimizer",), source=_ENGINE),
    Spelling("use_megatron_fsdp", ("{role}use_megatron_fsdp",), source=_ENGINE),
    Spelling("dynamic_context_parallel", ("{role}dynamic_context_parallel",), source=_ENGINE),
    Spelling("max_seqlen_per_dp_cp_rank", ("{role}max_seqlen_per_dp_cp_rank",), source=_ENGINE),
    Spelling("packed_sequences", ("{role}use_remove_padding",), source=f"{_ENGINE}, since 0.7"),
    Spelling("pad_to_max_length", ("{role}pad_to_length",), source=_ENGINE),
    Spelling("override_tensor_model_parallel_size", ("{role}override_transformer_config.tensor_model_parallel_size",)),
    Spelling(
        "override_pipeline_model_parallel_size", ("{role}override_transformer_config.pipeline_model_parallel_size",)
    ),
    Spelling("override_context_parallel_size", ("{role}override_transformer_config.context_parallel_size",)),
    Spelling("override_expert_model_parallel_size", ("{role}override_transformer_config.expert_model_parallel_size",)),
    Spelling("override_sequence_parallel", ("{role}override_transformer_config.sequence_parallel",)),
    Spelling(
        "cuda_graph_modules",
        ("{role}override_transformer_config.cuda_graph_scope",),
        source="core_v0.16.1 transformer/transformer_config.py:760, before 0.18",
    ),
    Spelling(
        "cuda_graph_impl",
        ("{role}override_transformer_config.enable_cuda_graph",),
        means("local"),
        "core_v0.14.0 transformer/transformer_config.py",
    ),
    Spelling(
        "model_id",
        ("{parent}model.path", "actor_rollout_ref.model.path", "model.path"),
        source="trainer/config/model/hf_model.yaml",
    ),
    Spelling("max_prompt_length", ("data.max_prompt_length",), source="trainer/config/data/legacy_data.yaml"),
    Spelling("max_response_length", ("data.max_response_length",), source="trainer/config/data/legacy_data.yaml"),
    Spelling("dataset_seq_length", ("data.max_length",), source="trainer/config/sft_trainer_engine.yaml"),
    Spelling("micro_batch_size", ("{parent}ppo_micro_batch_size_per_gpu",), source="trainer/config/actor/actor.yaml"),
    Spelling("global_batch_size", ("{parent}ppo_mini_batch_size",), source="trainer/config/actor/actor.yaml"),
    Spelling(
        "dynamic_batch_size",
        ("{parent}use_dynamic_bsz", "data.use_dynamic_bsz"),
        source="trainer/config/actor/actor.yaml",
    ),
    Spelling("max_tokens_per_gpu", ("{parent}ppo_max_token_len_per_gpu",), source="trainer/config/actor/actor.yaml"),
)

FRAMEWORK = Framework(
    name="verl",
    title="verl",
    libraries=(VERL, CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL, "{role}override_transformer_config.", without=_SIZES),
        *named(TRANSFORMER, "{role}override_transformer_config.", without=_SIZES),
        *named(DDP, "{role}override_ddp_config.", without=("use_distributed_optimizer", "use_megatron_fsdp")),
        *_KEYS,
    ),
)
