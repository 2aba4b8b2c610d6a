"""HCP001: two-level context parallelism without its level sizes."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import (
    A2A_P2P,
    builds_levels,
    level_sizes,
    levels_for,
    listed,
    only_levels,
    swap,
    uses_te_core,
    wants_levels,
)
from meshlint.config.edits import beside
from meshlint.config.packing import packed_needs, packed_refused
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

BRIDGE_ASSERTS = Window(
    "megatron-bridge",
    since="0.4",
    says="the config's validation asserts that the sizes are set",
    source="src/megatron/bridge/training/config.py:1272-1279 at v0.4.0; nothing of it at v0.3.1",
)


class A2aP2pWithoutSizes(LaunchRule):
    """Two-level context parallelism without its level sizes.

    ## What it does

    Finds a `cp_comm_type` of `a2a+p2p`, for all layers or for one, where `hierarchical_context_parallel_sizes` is
    unset, null or an empty list.

    ## Why this is bad

    The sizes are what megatron-core builds the two levels of groups from. Without them there are no groups, the layer
    hands `None` to Transformer Engine, and Transformer Engine takes that for a context parallel size of 1: each rank
    attends to its own chunk of the sequence only. Nothing is raised. Measured with megatron-core 0.19.2 and
    Transformer Engine 2.20.2 on 4 H100, cp = 4: the output differs from full attention by 149 % (relative L2), a step
    takes 5.7 ms instead of 36 to 40, the first gradient norm differs by 0.3 %, and a task that is learnt in 400 steps
    is never learnt.

    Megatron-LM's command line, and Megatron-Bridge from 0.4 on, assert at start, at cp = 1 too.

    ## Example

    ```yaml
    model:
      context_parallel_size: 16
      cp_comm_type: a2a+p2p
    ```

    ## Use instead

    ```yaml
    model:
      context_parallel_size: 16
      cp_comm_type: a2a+p2p
      hierarchical_context_parallel_sizes: [8, 2]
    ```

    The first is the degree of the all-to-all inside a node, the second that of the ring between nodes.

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "HCP001"
    slug = "a2a-p2p-without-sizes"
    outcomes = (Outcome.WRONG, Outcome.CRASH_START)
    windows = (BRIDGE_ASSERTS,)
    references = (
        Reference("megatron/training/arguments.py:406-408 at core_v0.16.1: the command line's assert"),
        Reference(
            "megatron/core/extensions/transformer_engine.py:1247 at core_v0.16.1: the groups come from the global state"
        ),
        Reference("the report and its fix", "https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/2665"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a2a+p2p first: most configs end there."""
        if not wants_levels(config) or not builds_levels(config) or level_sizes(config):
            return
        if _either_version(config):
            yield _silent(config, " Megatron-Bridge from 0.4 on asserts at start instead.")
        elif "megatron-bridge" in config.framework.libraries and config.within(BRIDGE_ASSERTS):
            yield from _refused_by_bridge(config)
        elif config.habit("validates_hierarchical_sizes"):
            yield _refused(
                config, f"{config.framework.title} asserts that the sizes are set, while it parses its arguments"
            )
        elif config.number("context_parallel_size") > 1 and uses_te_core(config):
            yield _silent(config)


def _either_version(config: EffectiveConfig) -> bool:
    """Say whether the fault stands on every version that Megatron-Bridge can be here, silently on some of them."""
    resolved = config.versions.get("megatron-bridge")
    inside = {BRIDGE_ASSERTS.holds(version) for version in resolved.candidates} if resolved is not None else set()
    silent = config.data("hierarchical_context_parallel_sizes") is None and inside == {True, False}
    return silent and config.number("context_parallel_size") > 1 and uses_te_core(config)


def _refused_by_bridge(config: EffectiveConfig) -> Iterator[Verdict]:
    """Bridge tests `is not None`, so that an empty list passes at cp = 1 and fails the product test above."""
    empty = config.data("hierarchical_context_parallel_sizes") is not None
    if not empty:
        yield _refused(config, "Megatron-Bridge's config validation asserts that the sizes are set, at cp = 1 too")
    elif config.number("context_parallel_size") > 1:
        yield _refused(config, "Megatron-Bridge's config validation asserts that their product, 1 for [], is cp")


def _refused(config: EffectiveConfig, how: str) -> Verdict:
    return _verdict(
        config,
        Outcome.CRASH_START,
        f"cp_comm_type asks for {A2A_P2P} and hierarchical_context_parallel_sizes is {_absent(config)}: every rank "
        f"stops at start, since {how}.",
    )


def _silent(config: EffectiveConfig, more: str = "") -> Verdict:
    cp = config.number("context_parallel_size")
    return _verdict(
        config,
        Outcome.WRONG,
        f"cp_comm_type asks for {A2A_P2P} with context_parallel_size = {cp}, and "
        f"hierarchical_context_parallel_sizes is {_absent(config)}: the two levels of groups are never built, "
        f"Transformer Engine gets no group, and each of the {cp} ranks attends only to its own 1/{cp} of every "
        "sequence. No error is raised; steps get several times faster and the model does not learn across chunks."
        + more,
    )


def _verdict(config: EffectiveConfig, outcome: Outcome, message: str) -> Verdict:
    return Verdict(
        message,
        outcome,
        subject=outcome.value,
        at="cp_comm_type",
        fields=("context_parallel_size", "hierarchical_context_parallel_sizes"),
        fix=_fix(config),
    )


def _absent(config: EffectiveConfig) -> str:
    value = config.value("hierarchical_context_parallel_sizes")
    if not value.is_set:
        return "not set"
    return "null" if value.data is None else "an empty list"


def _fix(config: EffectiveConfig) -> Fix:
    cp = config.value("context_parallel_size").data
    sizes = levels_for(cp) if isinstance(cp, int) and cp > 1 else None
    ways = (
        f"Set hierarchical_context_parallel_sizes to {listed(sizes)} (a2a inside a node, p2p between nodes)"
        f"{packed_needs(config, '2.19')}"
        if sizes and not packed_refused(config, "2.19")
        else ""
    )
    plain = "set cp_comm_type to p2p, which needs no sizes"
    text = f"{ways}; or {plain}." if ways else f"{plain.capitalize()}."
    only = only_levels(cp) if ways and not packed_needs(config, "2.19") else None
    written = config.value(SIZES)
    if only is None or (written.is_set and (written.data is None or written.span is None)):
        return Fix(text, swap(config.value("cp_comm_type"), A2A_P2P, "p2p"))
    if written.is_set:
        return Fix(text, swap(written, "[]", listed(only)), safe=True)
    return Fix(text, wishes=beside(config.value("cp_comm_type"), "cp_comm_type", SIZES, only), safe=True)


SIZES = "hierarchical_context_parallel_sizes"


RULE = A2aP2pWithoutSizes
