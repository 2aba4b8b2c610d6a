"""AReaL's Megatron engine: YAML with one section an engine, its mesh in one word.

A role's prefix is its `megatron.`, its parent the engine's section (`actor.`). The mesh is `actor.backend`
(`megatron:d4p2t2`) or, older, `allocation_mode` for all (`sglang:d4+megatron:(attn:d2p2t2c2|ffn:d2p2e4)`); both are
parsed here (areal/api/alloc_mode.py). Sources count from `areal/api/cli_args.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Framework, Role, Spelling
from meshlint.config.frameworks.megatron_core import (
    AMEND,
    CORE,
    DDP,
    MODEL_PARALLEL,
    TE,
    TORCH,
    TRANSFORMER,
    forward_only,
    named,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.value import Data, Value, derived_from

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig
    from meshlint.config.launch import Launch

AREAL = "areal"

_MEGATRON = (
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "recompute_modules",
    "distribute_saved_activations",
    "moe_shared_expert_overlap",
    "moe_enable_deepep",
    "moe_token_dispatcher_type",
)


_DDP = (
    "overlap_grad_reduce",
    "overlap_param_gather",
    "use_distributed_optimizer",
    "average_in_collective",
    "fp8_param_gather",
)
"""Fields of AReaL's own `DistributedDataParallelConfig` (:700)."""

MAX_DIGITS = 9


def _degrees(word: str) -> dict[str, int]:
    """Read `d4p2t2` into its degrees; raises ValueError for anything else."""
    degrees: dict[str, int] = {}
    letter, digits = "", ""
    for mark in f"{word}.":
        if "0" <= mark <= "9" and letter and len(digits) < MAX_DIGITS:
            digits += mark
            continue
        if (letter and not digits) or mark not in "pdtce.":
            raise ValueError(f"{word[:60]!r} is not a mesh such as d4p2t2")
        if letter:
            degrees[letter] = int(digits)
        letter, digits = mark, ""
    return degrees


def mesh(data: Data) -> dict[str, int]:
    """Read the training engine's mesh: letters d, p, t, c, e, and `et` for tensor parallelism inside experts.

    The word is `megatron:d2p2t2`, `megatron[actor]:...`, or has attention and experts apart,
    `megatron:(attn:d2p2t2c2|ffn:d2p2e4)`; an older one names the inference engine first, `sglang:d4+megatron:d4`.
    Raises ValueError where it names no Megatron engine, several, or is no mesh.
    """
    parts = [part for part in str(data).replace(" ", "").split("+") if part.startswith("megatron")]
    if len(parts) != 1:
        raise ValueError(f"{str(data)[:60]!r} names no single Megatron engine")
    word = parts[0].split(":", 1)[-1].strip("()")
    if not word.startswith("attn:"):
        return _degrees(word.split("|", 1)[0])
    sides = dict(side.split(":", 1) for side in word.split("|") if ":" in side)
    attention, experts = _degrees(sides.get("attn", "")), _degrees(sides.get("ffn", ""))
    return {**attention, "e": experts.get("e", 1), "et": experts.get("t", 1)}


def _degree(letter: str) -> Callable[[Data], Data]:
    return lambda data: mesh(data).get(letter, 1)


_ALLOCATION = ("allocation_mode", "{parent}backend")

_KEYS = (
    Spelling("tensor_model_parallel_size", _ALLOCATION, _degree("t"), ":2689"),
    Spelling("pipeline_model_parallel_size", _ALLOCATION, _degree("p"), ":2689"),
    Spelling("context_parallel_size", _ALLOCATION, _degree("c"), ":2689"),
    Spelling("expert_model_parallel_size", _ALLOCATION, _degree("e"), ":2689"),
    Spelling("expert_tensor_parallel_size", _ALLOCATION, _degree("et"), "alloc_mode.py:956"),
    Spelling("virtual_pipeline_model_parallel_size", ("{role}virtual_pipeline_parallel_size",), source=":847"),
    Spelling("use_torch_fsdp2", ("{role}use_torch_fsdp2",), source=":842"),
    Spelling("fp8", ("{role}fp8_config.mode",), source=":914"),
    Spelling("fp8_recipe", ("{role}fp8_config.recipe",), source=":914"),
    Spelling("model_id", ("{parent}path",), source="cli_args.py"),
    Spelling("max_tokens_per_gpu", ("{parent}mb_spec.max_tokens_per_mb",), source="cli_args.py"),
    Spelling("pad_to_max_length", ("{parent}pad_to_maximum",), source="cli_args.py"),
)


def roles(launch: Launch) -> tuple[Role, ...]:
    """Give the engines whose mesh is Megatron's; with the older `allocation_mode`, the actor."""
    names = sorted({w.key.removesuffix(".backend") for w in launch.writes if w.key.endswith(".backend")})
    named_engines = [name for name in names if _is_megatron(launch, f"{name}.backend")]
    if not named_engines and _is_megatron(launch, "allocation_mode"):
        named_engines = ["actor"]
    return tuple(Role(name, f"{name}.megatron.", f"{name}.") for name in named_engines)


def _is_megatron(launch: Launch, key: str) -> bool:
    value = launch.find(key)
    return value is not None and "megatron" in str(value.data)


def _sequence_parallel(config: EffectiveConfig) -> Value:
    """Derive `sequence_parallel`: on wherever tp is above 1 (models/mcore/registry.py:215)."""
    tp = config.value("tensor_model_parallel_size")
    return tp if tp.is_unknown else derived_from(isinstance(tp.data, int) and tp.data > 1, "on where tp > 1", tp)


def _checkpointing(config: EffectiveConfig, value: Value) -> Value:
    """Amend `recompute_granularity`: it counts only with `gradient_checkpointing` (:885)."""
    switch = config.launch.find(f"{config.role.parent}gradient_checkpointing")
    on = switch is not None and (switch.is_unknown or str(switch.data).lower() == "true")
    return value if on else value.with_data(None)


def _none_at_one(_: EffectiveConfig, value: Value) -> Value:
    """Amend vpp: 1 is none (engine/megatron_engine.py:232)."""
    return value.with_data(None) if value.data == 1 else value


DEFAULTS = (
    Default("recompute_granularity", "full", ":886"),
    Default("recompute_method", "uniform", ":887"),
    Default("recompute_num_layers", 1, ":888"),
    Default("moe_token_dispatcher_type", "alltoall", ":902"),
    Default("use_distributed_optimizer", True, ":722"),
    Default("packed_sequences", True, "engine/megatron_utils/packed_context_parallel.py:41"),
    *CORE_DEFAULTS,
)

HABITS: dict[str, Data] = {
    "validates_hierarchical_sizes": False,
    "passes_hierarchical_sizes": False,
    "seq_is_tensor_length": False,
    "pads_each_sequence_to": "2*cp*tp",
    "always_packed": True,
    "switches_sp_off_at_tp1": True,
    "lays_out_stages": True,
    "sets_max_connections": True,
    "trains": True,
}
"""Sources: groups engine/megatron_engine.py:229; pad engine/megatron_utils/packed_context_parallel.py:31;
stages engine/megatron_utils/pipeline_parallel.py:17; environment
infra/utils/launcher.py:49."""

FRAMEWORK = Framework(
    name="areal",
    title="AReaL",
    libraries=(AREAL, CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL + TRANSFORMER, "{role}", only=_MEGATRON),
        *named(DDP, "{role}ddp.", only=_DDP),
        *_KEYS,
    ),
    defaults=DEFAULTS,
    derive={"sequence_parallel": _sequence_parallel, "training": forward_only("ref", "teacher")},
    roles=roles,
    deciding=(("actor.backend", "allocation_mode"),),
    habits=HABITS,
    amend={**AMEND, "recompute_granularity": _checkpointing, "virtual_pipeline_model_parallel_size": _none_at_one},
)
