"""HCP002: level sizes whose product is not cp."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from meshlint.config.attention import builds_levels, level_sizes, listed, refit, swap_sizes, wants_levels
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

BUILDER_ASSERTS = Window(
    "megatron-core",
    since="0.13",
    says="the group builder asserts that the product of the sizes is cp",
    source="megatron/core/parallel_state.py:1000 at core_v0.13.0; nothing of it in :291-326 at core_v0.12.3",
)


class SizesProduct(LaunchRule):
    """Level sizes whose product is not the context parallel size.

    ## What it does

    Finds `hierarchical_context_parallel_sizes` whose product is not `context_parallel_size`; where that is not set, it
    counts as 1. It speaks where the sizes reach the group builder.

    ## Why this is bad

    The levels have to tile the context parallel group. Megatron-LM's command line asserts it without a message,
    Megatron-Bridge from 0.4 with one, and from 0.13 on megatron-core's group builder itself; each stops every rank at
    start. Before that, any other caller gets groups that do not tile: `[2, 1]` with cp = 4 runs context parallelism
    over 2 of the 4 ranks, without an error.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 16 --cp-comm-type a2a+p2p \\
        --hierarchical-context-parallel-sizes 4 2
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 16 --cp-comm-type a2a+p2p \\
        --hierarchical-context-parallel-sizes 4 4
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "HCP002"
    slug = "sizes-product"
    outcomes = (Outcome.CRASH_START, Outcome.WRONG)
    windows = (BUILDER_ASSERTS,)
    references = (
        Reference("megatron/training/arguments.py:403-405 at core_v0.16.1; :252-254 at core_v0.10.0"),
        Reference("src/megatron/bridge/training/config.py:1284 at v0.4.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for sizes first: most configs end there."""
        sizes = level_sizes(config)
        if not sizes or not builds_levels(config):
            return
        cp = config.number("context_parallel_size")
        if prod(sizes) == cp:
            return
        if _validated(config) or config.within(BUILDER_ASSERTS):
            yield _verdict(
                config, Outcome.CRASH_START, f"{_facts(sizes, cp)}: every rank stops at start with an assertion."
            )
        elif cp > 1 and wants_levels(config):
            yield _verdict(config, Outcome.WRONG, _untiled(sizes, cp))


def _validated(config: EffectiveConfig) -> bool:
    """Megatron-Bridge from its first release on stands on a megatron-core (0.14) whose group builder asserts."""
    return bool(config.habit("validates_hierarchical_sizes")) or "megatron-bridge" in config.framework.libraries


def _untiled(sizes: tuple[int, ...], cp: int) -> str:
    return (
        f"{_facts(sizes, cp)}: before megatron-core 0.13 the group builder does not check that, and the groups do "
        f"not cover the {cp} ranks. Attention runs over {prod(sizes)} of them without an error, or dies in the "
        "first forward."
    )


def _facts(sizes: tuple[int, ...], cp: int) -> str:
    product = f"hierarchical_context_parallel_sizes {listed(sizes)} multiply to {prod(sizes)}"
    return f"{product}, but context_parallel_size is {cp}"


def _verdict(config: EffectiveConfig, outcome: Outcome, message: str) -> Verdict:
    return Verdict(
        message,
        outcome,
        subject=outcome.value,
        at="hierarchical_context_parallel_sizes",
        fields=("context_parallel_size",),
        fix=_fix(config),
    )


def _fix(config: EffectiveConfig) -> Fix:
    value = config.value("hierarchical_context_parallel_sizes")
    sizes, cp = level_sizes(config), config.number("context_parallel_size")
    better = refit(sizes, cp)
    if better is None:
        return Fix(
            f"Set context_parallel_size to {prod(sizes)}, or take the sizes away: {cp} has no two levels above 1."
        )
    return Fix(
        f"Set hierarchical_context_parallel_sizes to {listed(better)}, or context_parallel_size to {prod(sizes)}.",
        swap_sizes(value, sizes, better),
    )


RULE = SizesProduct
