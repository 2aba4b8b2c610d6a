"""ROLL's Megatron strategy: YAML with one section a worker.

A role's prefix is its `strategy_args.strategy_config.`, its parent the worker's section (`actor_train.`). Sources
count from the repository's root; the strategy's keys are `mcore_adapter/src/mcore_adapter/training_args.py:16` and,
through `additional_configs`, fields of megatron-core's `TransformerConfig`.
"""

from __future__ import annotations

from meshlint.config.framework import Framework, Spelling
from meshlint.config.frameworks.megatron_core import CORE, DDP, MODEL_PARALLEL, OPTIMIZER, TE, TORCH, TRANSFORMER, named

_WORKER = "roll/configs/worker_config.py"

_KEYS = (
    Spelling("model_id", ("{parent}model_args.model_name_or_path", "pretrain"), source="roll/configs/model_args.py"),
    Spelling("seq_length", ("sequence_length",), source="roll/configs/base_config.py"),
    Spelling("max_prompt_length", ("prompt_length",), source="roll/configs/base_config.py"),
    Spelling("max_response_length", ("response_length",), source="roll/configs/base_config.py"),
    Spelling(
        "micro_batch_size",
        ("{parent}training_args.per_device_train_batch_size",),
        source="roll/configs/training_args.py",
    ),
    Spelling("packed_sequences", ("{parent}use_sequence_packing",), source=f"{_WORKER}:199"),
    Spelling("dynamic_batch_size", ("{parent}use_dynamic_batching_in_train",), source=f"{_WORKER}:148"),
)

FRAMEWORK = Framework(
    name="roll",
    title="ROLL",
    libraries=(CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL + TRANSFORMER + DDP + OPTIMIZER, "{role}", "{role}additional_configs."),
        *_KEYS,
    ),
)
