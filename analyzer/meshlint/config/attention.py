"""Attention under context parallelism: what several rules ask of a config, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from meshlint.config.effective import EffectiveConfig, Unjudged
from meshlint.config.value import Data, Value
from meshlint.finding import Edit
from meshlint.place import Span

A2A_P2P = "a2a+p2p"
COMM_TYPES = ("p2p", "all_gather", "a2a", A2A_P2P)
"""What Transformer Engine dispatches on (v1.12 pytorch/attention.py:4350 to v2.18 context_parallel.py:5139)."""

STANDARD_SPECS = frozenset(
    {
        ("megatron.core.models.mamba.mamba_layer_specs", "mamba_stack_spec"),
        ("megatron.core.models.hybrid.hybrid_layer_specs", "hybrid_stack_spec"),
        ("slime_plugins.models.glm4", "get_glm_spec"),
        ("slime_plugins.models.minimax_m2", "get_minimax_m2_layer_spec"),
        ("slime_plugins.models.qwen3_5", "get_qwen3_5_spec"),
        ("slime_plugins.models.qwen3_5_vl", "get_qwen3_5_vl_model_provider"),
        ("slime_plugins.models.qwen3_next", "get_qwen3_next_spec"),
    }
)
"""Layer specs whose attention layers use Transformer Engine's core.

slime's build megatron-core's layers with Transformer Engine and replace the linear layers, or the projections around
the core, alone: slime 624b824a slime_plugins/models/glm4.py:4, minimax_m2.py:80, qwen3_5.py:198, qwen3_next.py:210.
"""


def comm_types(config: EffectiveConfig) -> tuple[str, ...]:
    """Give how ranks exchange keys and values: one entry for all layers, or one a layer; p2p where nothing is set."""
    return tuple(config.data("cp_comm_type") or ("p2p",))


def wants_levels(config: EffectiveConfig) -> bool:
    """Say whether any layer asks for the two-level exchange."""
    return A2A_P2P in comm_types(config)


def level_sizes(config: EffectiveConfig) -> tuple[int, ...]:
    """Give the degrees of the levels, inner first; empty where they are unset, null or an empty list."""
    return tuple(config.data("hierarchical_context_parallel_sizes") or ())


def builds_levels(config: EffectiveConfig) -> bool:
    """Say whether the framework hands the sizes to megatron-core's group builder."""
    return bool(config.habit("passes_hierarchical_sizes"))


def taken_as(comm: str, sizes: Sequence[int]) -> str:
    """Give the exchange that Transformer Engine makes of one: `[1, n]` is p2p, `[n, 1]` is a2a.

    Source: transformer_engine v2.18 context_parallel.py:5027-5033; v1.12 attention.py:4285-4290.
    """
    if comm != A2A_P2P or len(sizes) != 2:
        return comm
    if sizes[0] == 1:
        return "p2p"
    return "a2a" if sizes[1] == 1 else comm


def a2a_degree(comm: str, sizes: Sequence[int], cp: int) -> int:
    """Give over how many ranks an exchange splits the heads; 1 where it does not."""
    if comm == "a2a":
        return cp
    return sizes[0] if comm == A2A_P2P and len(sizes) == 2 else 1


_ASSUMED = "This takes for granted that the model, whose config is not in reach, has plain attention layers."


def uses_te_core(config: EffectiveConfig) -> bool:
    """Say whether attention layers use Transformer Engine's core; ends the rule where that is not known.

    Of a model that is not known it is assumed: all but a few have such layers, those that mix linear and plain
    attention too (core_v0.16.1 models/gpt/experimental_attention_variant_module_specs.py).
    """
    if config.data("transformer_impl") not in ("transformer_engine", None):
        return False
    variant = config.assume("experimental_attention_variant", None, _ASSUMED)
    if variant is not None and not _mixed(config, variant):
        raise Unjudged("experimental_attention_variant", f"layers with {variant} have a core attention of their own")
    spec = config.data("spec")
    if spec is not None and tuple(spec) not in STANDARD_SPECS:
        raise Unjudged("spec", f"the core attention of the layer spec {' '.join(spec)} is not known")
    return _has_attention(config)


def _mixed(config: EffectiveConfig, variant: Data) -> bool:
    """Say whether plain attention layers stand between the linear ones, and one exchange holds for all of them.

    Source: core_v0.16.1 transformer/transformer_config.py:275-280, `linear_attention_freq`: N is one plain layer after
    N - 1 linear ones; in a list 0 is a plain layer.
    """
    if variant != "gated_delta_net" or len(comm_types(config)) > 1:
        return False
    often = config.data("linear_attention_freq")
    return often > 1 if isinstance(often, int) else isinstance(often, tuple) and 0 in often


def _has_attention(config: EffectiveConfig) -> bool:
    if not config.assume("is_hybrid_model", False, _ASSUMED):
        return True
    pattern = config.data("hybrid_layer_pattern")
    if pattern is not None:
        return "*" in pattern
    return bool(config.data("hybrid_attention_ratio") != 0.0)


def levels_for(cp: int) -> tuple[int, int] | None:
    """Give two degrees above 1 whose product is cp, the inner at most 8 (a node); None where there are none."""
    inner = next((n for n in (8, 4, 2, 7, 6, 5, 3) if cp % n == 0 and cp // n > 1), None)
    return None if inner is None else (inner, cp // inner)


def refit(sizes: Sequence[int], cp: int) -> tuple[int, int] | None:
    """Give sizes near the given ones whose product is cp: the inner one kept where it divides cp."""
    if sizes and sizes[0] > 1 and cp % sizes[0] == 0 and cp // sizes[0] > 1 and prod(sizes) != cp:
        return (sizes[0], cp // sizes[0])
    return levels_for(cp)


def only_levels(cp: int) -> tuple[int, int] | None:
    """Give the two degrees above 1 whose product is cp where there is one such pair alone; None elsewhere."""
    inner = [n for n in range(2, min(cp, MAX_CP)) if cp % n == 0]
    return (inner[0], inner[0]) if len(inner) == 1 else None


MAX_CP = 1 << 16
"""Ranks of one context parallel group that anybody has."""


def swap_sizes(value: Value, old: Sequence[int], new: Sequence[int]) -> tuple[Edit, ...]:
    """Give the edit that replaces written sizes, in whichever way they are set apart."""
    spelt = ((gap.join(map(str, old)), gap.join(map(str, new))) for gap in (", ", ",", " "))
    return next((edits for before, after in spelt if (edits := swap(value, before, after))), ())


def swap(value: Value, old: str, new: str) -> tuple[Edit, ...]:
    """Give the edit that replaces `old` by `new` where a value is written; none where its text lacks it."""
    origin = next((o for o in value.origins if o.span is not None), None)
    if origin is None or origin.span is None or origin.text.count(old) != 1:
        return ()
    span = origin.span
    lead = _lead(span, origin.text)
    if lead is None:
        return ()
    column = span.column + lead + origin.text.index(old)
    return (Edit(Span(span.path, span.line, column, span.line, column + len(old)), new),)


def _lead(span: Span, text: str) -> int | None:
    """Give how far the text begins behind the start of its place: 0, or 1 for a quote; None where they do not fit."""
    if span.line != span.end_line:
        return None
    rest = span.end_column - span.column - len(text)
    return {0: 0, 2: 1}.get(rest)


def listed(numbers: Sequence[int]) -> str:
    """Write sizes as upstream's messages do: `[4, 2]`."""
    return f"[{', '.join(map(str, numbers))}]"
