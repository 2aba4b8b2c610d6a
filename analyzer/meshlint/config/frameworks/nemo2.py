"""NeMo 2 recipes: `run.Partial` trees of Python.

Keys are paths in the partial, as NeMo-Run's command line spells them: `trainer.strategy.context_parallel_size`,
`trainer.strategy.ddp.overlap_grad_reduce`, `model.config.num_layers`, `data.seq_length`, `trainer.plugins.fp8`,
`trainer.callbacks.tp_comm_overlap` (whichever callback has it). Sources count from `nemo/` at the 2025-09-20 snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
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
    named,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.value import Data, Kind, Value, unknown

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig

_STRATEGY = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "microbatch_group_size_per_vp_stage",
    "context_parallel_size",
    "sequence_parallel",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "moe_extended_tp",
    "num_layers_in_first_pipeline_stage",
    "num_layers_in_last_pipeline_stage",
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "pipeline_model_parallel_layout",
    "num_distributed_optimizer_instances",
)
"""Arguments of `MegatronStrategy` (lightning/pytorch/strategies/megatron_strategy.py:237) under core's own names."""

_OVERLAP = (
    "tp_comm_overlap",
    "overlap_p2p_comm",
    "batch_p2p_comm",
    "overlap_grad_reduce",
    "overlap_param_gather",
    "overlap_param_gather_with_optimizer_step",
    "defer_embedding_wgrad_compute",
)
"""Arguments of `MegatronCommOverlapCallback` (lightning/pytorch/callbacks/megatron_comm_overlap.py:89)."""

_KEYS = (
    Spelling("model_id", ("@factory",), source="collections/llm/recipes: `nemo llm pretrain --factory NAME`"),
    Spelling(
        "encoder_tensor_model_parallel_size",
        ("trainer.strategy.encoder_tensor_model_parallel_size",),
        source="lightning/pytorch/strategies/megatron_strategy.py:237",
    ),
    Spelling(
        "encoder_pipeline_model_parallel_size",
        ("trainer.strategy.encoder_pipeline_model_parallel_size",),
        source="lightning/pytorch/strategies/megatron_strategy.py:237",
    ),
    Spelling(
        "use_tp_pp_dp_mapping",
        ("trainer.strategy.use_tp_pp_dp_mapping",),
        source="lightning/pytorch/strategies/megatron_strategy.py:237",
    ),
    Spelling(
        "use_gloo_process_groups",
        ("trainer.strategy.use_gloo_process_groups",),
        source="lightning/pytorch/strategies/megatron_strategy.py:237",
    ),
    Spelling("seq_length", ("model.config.seq_length",), source="collections/llm/gpt/model/base.py:300"),
    Spelling("dataset_seq_length", ("data.seq_length",), source="collections/llm/gpt/data"),
    Spelling(
        "position_embedding_type",
        ("model.config.position_embedding_type",),
        source="collections/llm/gpt/model/base.py:296",
    ),
    Spelling("micro_batch_size", ("data.micro_batch_size",), source="collections/llm/gpt/data"),
    Spelling("global_batch_size", ("data.global_batch_size",), source="collections/llm/gpt/data"),
    Spelling(
        "packed_sequences",
        ("data.packed_sequence_specs.packed_sequence_size",),
        lambda data: bool(data and data > 0),
        "collections/llm/gpt/data/packed_sequence.py",
    ),
    Spelling("fp8", ("trainer.plugins.fp8",), source="lightning/pytorch/plugins/mixed_precision.py:111"),
    Spelling("fp8_recipe", ("trainer.plugins.fp8_recipe",), source="lightning/pytorch/plugins/mixed_precision.py:112"),
    Spelling(
        "fp8_dot_product_attention",
        ("trainer.plugins.fp8_dot_product_attention",),
        source="lightning/pytorch/plugins/mixed_precision.py:118",
    ),
    Spelling(
        "fp8_multi_head_attention",
        ("trainer.plugins.fp8_multi_head_attention",),
        source="lightning/pytorch/plugins/mixed_precision.py:119",
    ),
    Spelling(
        "use_megatron_fsdp",
        ("trainer.strategy.fsdp",),
        lambda data: data == "megatron",
        "lightning/pytorch/strategies/megatron_strategy.py:237",
    ),
)


LANGUAGE = "model.config.language_transformer_config"
_SHAPE = (
    "num_layers",
    "hidden_size",
    "ffn_hidden_size",
    "num_attention_heads",
    "num_query_groups",
    "kv_channels",
    "num_moe_experts",
    "seq_length",
)


def _of_language_model(name: str) -> Callable[[EffectiveConfig, Value], Value]:
    """Amend a field of the shape: where the model has a language model inside, its own field is a placeholder.

    Source: collections/vlm/qwen2vl/model/base.py:248, "Placeholder, NOT used!".
    """

    def amend(config: EffectiveConfig, value: Value) -> Value:
        if config.launch.find(LANGUAGE) is None:
            return AMEND[name](config, value) if name in AMEND else value
        own = config.launch.find(f"{LANGUAGE}.{name}")
        return own or unknown(f"the language model inside has no {name} of its own", *value.origins)

    return amend


def _ranks(config: EffectiveConfig) -> Value | None:
    """Derive the ranks: what a recipe's own parameters say by default, its caller may say otherwise."""
    counts = (config.launch.nodes, config.launch.gpus_per_node)
    passed = any(value is not None and len(value.origins) > 1 for value in counts)
    given = config.launch.world is None or any(o.kind is Kind.OPTION for o in config.launch.world.origins)
    if given or not passed or not config.launch.identity.endswith("_recipe"):
        return None
    return unknown("who calls the recipe says on how many nodes it runs; --world-size does too")


DEFAULTS = (
    Default("position_embedding_type", "learned_absolute", "collections/llm/gpt/model/base.py:296"),
    Default("packed_sequences", False, "collections/llm/gpt/data/packed_sequence.py"),
    *CORE_DEFAULTS,
)

HABITS: dict[str, Data] = {
    "validates_hierarchical_sizes": False,
    "passes_hierarchical_sizes": False,
    "seq_is_tensor_length": True,
    "checks_tp_overlap": "off",
    "checks_world": True,
    "counts_micro_batches": True,
    "switches_sp_off_at_tp1": True,
    "trains": True,
}
"""Sources: lightning/_strategy_lib.py:124 passes no sizes; collections/llm/api.py:1341 asserts
the world, :1365 switches SP off; lightning/pytorch/callbacks/megatron_comm_overlap.py:146
switches the overlap off."""

FRAMEWORK = Framework(
    name="nemo2",
    title="NeMo 2",
    libraries=(CORE, TE, TORCH),
    defaults=DEFAULTS,
    derive={"world_size": _ranks},
    amend={**AMEND, **{name: _of_language_model(name) for name in _SHAPE}},
    habits=HABITS,
    spellings=(
        *named(MODEL_PARALLEL + TRANSFORMER, "model.config."),
        *named(MODEL_PARALLEL + TRANSFORMER + DDP, "trainer.strategy.", only=_STRATEGY),
        *named(DDP, "trainer.strategy.ddp."),
        *named(OPTIMIZER, "optim.config."),
        *named(MODEL_PARALLEL + DDP + OPTIMIZER, "trainer.callbacks.", only=_OVERLAP),
        *_KEYS,
    ),
)
