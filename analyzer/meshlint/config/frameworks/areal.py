"""AReaL's Megatron engine: YAML with one section an engine, its mesh in one word.

A role's prefix is its `megatron.`, its parent the engine's section (`actor.`). The mesh is `actor.backend`
(`megatron:d4p2t2`) or, older, `allocation_mode` for all (`sglang:d4+megatron:(attn:d2p2t2c2|ffn:d2p2e4)`); both are
parsed here (areal/api/alloc_mode.py). Sources count from `areal/api/cli_args.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from meshlint.config.framework import Framework, Spelling
from meshlint.config.frameworks.megatron_core import CORE, MODEL_PARALLEL, TE, TORCH, TRANSFORMER, named
from meshlint.config.value import Data

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


def _degrees(word: str) -> dict[str, int]:
    """Read `d4p2t2` into its degrees; raises ValueError for anything else."""
    degrees: dict[str, int] = {}
    letter, digits = "", ""
    for mark in f"{word}d":
        if mark.isdigit():
            digits += mark
            continue
        if letter:
            degrees[letter] = int(digits)
        elif digits:
            raise ValueError(f"{word!r} is not a mesh such as d4p2t2")
        letter, digits = mark, ""
    return degrees


def mesh(data: Data) -> dict[str, int]:
    """Read the training engine's mesh: letters d, p, t, c, e, and `et` for tensor parallelism inside experts.

    Raises ValueError where the word names no Megatron engine or is no mesh.
    """
    parts = [part for part in str(data).replace(" ", "").split("+") if "megatron" in part.split("(")[0]]
    if len(parts) != 1:
        raise ValueError(f"{data!r} names no single Megatron engine")
    word = parts[0].split(":", 1)[-1]
    if not word.startswith("("):
        return _degrees(word)
    sides = dict(side.split(":", 1) for side in word.strip("()").split("|") if ":" in side)
    attention, experts = _degrees(sides.get("attn", "")), _degrees(sides.get("ffn", ""))
    return {**attention, "e": experts.get("e", 1), "et": experts.get("t", 1)}


def _degree(*letters: str) -> Callable[[Data], Data]:
    def convert(data: Data) -> Data:
        degrees = mesh(data)
        return next((degrees[letter] for letter in letters if letter in degrees), 1)

    return convert


_ALLOCATION = ("allocation_mode", "{parent}backend")

_KEYS = (
    Spelling("tensor_model_parallel_size", _ALLOCATION, _degree("t"), ":2689"),
    Spelling("pipeline_model_parallel_size", _ALLOCATION, _degree("p"), ":2689"),
    Spelling("context_parallel_size", _ALLOCATION, _degree("c"), ":2689"),
    Spelling("expert_model_parallel_size", _ALLOCATION, _degree("e"), ":2689"),
    Spelling("expert_tensor_parallel_size", _ALLOCATION, _degree("et", "t"), "alloc_mode.py:952"),
    Spelling("virtual_pipeline_model_parallel_size", ("{role}virtual_pipeline_parallel_size",), source=":847"),
    Spelling("use_torch_fsdp2", ("{role}use_torch_fsdp2",), source=":842"),
    Spelling("fp8", ("{role}fp8_config.mode",), source=":914"),
    Spelling("fp8_recipe", ("{role}fp8_config.recipe",), source=":914"),
    Spelling("model_id", ("{parent}path",), source="cli_args.py"),
    Spelling("max_tokens_per_gpu", ("{parent}mb_spec.max_tokens_per_mb",), source="cli_args.py"),
    Spelling("pad_to_max_length", ("{parent}pad_to_maximum",), source="cli_args.py"),
)

FRAMEWORK = Framework(
    name="areal",
    title="AReaL",
    libraries=(AREAL, CORE, TE, TORCH),
    spellings=(*named(MODEL_PARALLEL + TRANSFORMER, "{role}", only=_MEGATRON), *_KEYS),
)
