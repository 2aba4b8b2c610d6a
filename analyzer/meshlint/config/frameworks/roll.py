"""ROLL's Megatron strategy: YAML with one section a worker.

A role's prefix is its `strategy_args.strategy_config.`, its parent the worker's section (`actor_train.`). Sources
count from the repository's root; the strategy's keys are `mcore_adapter/src/mcore_adapter/training_args.py:16` and,
through `additional_configs`, fields of megatron-core's `TransformerConfig`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meshlint.config.devices import ranks
from meshlint.config.framework import Default, Framework, Role, Spelling
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
    named,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.value import Data, Kind, Value, derived_from, unknown

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig
    from meshlint.config.launch import Launch

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

_ARGS = "mcore_adapter/src/mcore_adapter/training_args.py"
_STRATEGY_NAME = "strategy_args.strategy_name"


def roles(launch: Launch) -> tuple[Role, ...]:
    """Give the workers whose strategy is `megatron_train` or `megatron_infer`; a critic only with adv_estimator gae."""
    names = sorted({w.key.removesuffix(f".{_STRATEGY_NAME}") for w in launch.writes if w.key.endswith(_STRATEGY_NAME)})
    return tuple(
        Role(name, f"{name}.strategy_args.strategy_config.", f"{name}.") for name in names if _runs(launch, name)
    )


def _runs(launch: Launch, name: str) -> bool:
    """Follow roll/pipeline/rlvr/rlvr_pipeline.py:223; the estimator is gae where nothing is written."""
    strategy = launch.find(f"{name}.{_STRATEGY_NAME}")
    if strategy is None or not str(strategy.data).startswith("megatron"):
        return False
    estimator = launch.find("adv_estimator")
    return name != "critic" or estimator is None or estimator.data == "gae"


def _trains(config: EffectiveConfig) -> Value | None:
    """Derive `training`: `megatron_infer` runs no backward pass."""
    strategy = config.launch.find(f"{config.role.parent}{_STRATEGY_NAME}")
    infers = strategy is not None and strategy.data == "megatron_infer"
    return (
        derived_from(False, "the strategy megatron_infer only runs forward", strategy) if infers and strategy else None
    )


def _prompt_and_response(config: EffectiveConfig) -> Value | None:
    """Derive `seq_length`: prompt and response together, where no sequence_length is given (base_config.py:274)."""
    prompt, response = config.value("max_prompt_length"), config.value("max_response_length")
    stop = follows("seq_length", prompt, response)
    if stop is not None or not (isinstance(prompt.data, int) and isinstance(response.data, int)):
        return stop
    return derived_from(prompt.data + response.data, "prompt_length + response_length", prompt, response)


def _shares_sequence(config: EffectiveConfig, value: Value) -> Value:
    """Amend `sequence_parallel`: with tp and ep above 1 it is switched on (models/model_config.py:368)."""
    if value.is_unknown or value.data:
        return value
    tp, ep = config.value("tensor_model_parallel_size"), config.value("expert_model_parallel_size")
    stop = follows("sequence_parallel", tp, ep)
    if stop is not None:
        return stop
    both = all(isinstance(size.data, int) and size.data > 1 for size in (tp, ep))
    return derived_from(True, "with tp and ep above 1 it is switched on", tp, ep) if both else value


def _ranks(config: EffectiveConfig) -> Value | None:
    """Derive the ranks of a role out of its own devices; the launch's are those of the worker that trains."""
    world = config.launch.world
    if world is not None and any(origin.kind is Kind.OPTION for origin in world.origins):
        return None
    mapping = config.launch.find(f"{config.role.parent}device_mapping")
    if mapping is None or (mapping.data is None and not mapping.is_unknown):
        return unknown(f"no devices are named for {config.role.name}")
    return ranks(mapping)


def _uniform(name: str, other: str, data: Data) -> Callable[[EffectiveConfig], Value | None]:
    """Derive method and layers of full recompute, set where neither is written (models/model_config.py:359)."""

    def derive(config: EffectiveConfig) -> Value | None:
        granularity = config.value("recompute_granularity")
        keys = [f"{config.role.prefix}{part}{other}" for part in ("", "additional_configs.")]
        if granularity.data != "full" or any(config.launch.find(key) is not None for key in keys):
            return None
        return derived_from(data, f"full recompute has {name} = {data} where nothing is written", granularity)

    return derive


DEFAULTS = (
    Default("max_prompt_length", 1024, "roll/configs/base_config.py:175"),
    Default("overlap_p2p_comm", True, f"{_ARGS}:82"),
    Default("packed_sequences", False, f"{_WORKER}:199"),
    Default("dynamic_batch_size", False, f"{_WORKER}:148"),
    *CORE_DEFAULTS,
)

HABITS: dict[str, Data] = {
    "validates_hierarchical_sizes": False,
    "passes_hierarchical_sizes": False,
    "seq_is_tensor_length": False,
    "pads_each_sequence_to": "2*cp*tp",
    "switches_sp_off_at_tp1": True,
    "checks_layers_per_stage": "config",
    "checks_param_gather": "never",
    "trains": True,
}
"""Sources: groups mcore_adapter/src/mcore_adapter/initialize.py:62; pad roll/distributed/strategy/
megatron_strategy.py:330; SP mcore_adapter/src/mcore_adapter/models/model_config.py:371 (with experts and tp it is
switched on, :368), layers :404; parameter gather roll/distributed/strategy/megatron_strategy.py:119."""

FRAMEWORK = Framework(
    name="roll",
    title="ROLL",
    libraries=(CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL + TRANSFORMER + DDP + OPTIMIZER, "{role}", "{role}additional_configs."),
        Spelling("average_in_collective", ("{role}ddp_average_in_collective",), source=f"{_ARGS}:354"),
        Spelling("cuda_graph_modules", ("{role}cuda_graph_scope",), source=f"{_ARGS}:243"),
        *_KEYS,
    ),
    defaults=DEFAULTS,
    derive={
        "seq_length": _prompt_and_response,
        "training": _trains,
        "recompute_method": _uniform("recompute_method", "recompute_num_layers", "uniform"),
        "recompute_num_layers": _uniform("recompute_num_layers", "recompute_method", 1),
        "world_size": _ranks,
    },
    roles=roles,
    deciding=((f"actor_train.{_STRATEGY_NAME}",),),
    habits=HABITS,
    amend={**AMEND, "sequence_parallel": _shares_sequence},
)
