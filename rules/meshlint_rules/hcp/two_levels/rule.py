"""HCP003: a number of levels other than two."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from meshlint.config.attention import (
    A2A_P2P,
    builds_levels,
    level_sizes,
    levels_for,
    listed,
    only_levels,
    swap_sizes,
    uses_te_core,
    wants_levels,
)
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class TwoLevels(LaunchRule):
    """A number of levels other than two, with the two-level exchange.

    ## What it does

    Finds `hierarchical_context_parallel_sizes` of one, three or more levels where a layer uses `a2a+p2p`.

    ## Why this is bad

    megatron-core builds groups for any number of levels, and no validation counts them. Transformer Engine asserts
    that there are exactly two, in the first forward pass, after the model is built and the data is loaded.

    ## Example

    ```yaml
    context_parallel_size: 8
    cp_comm_type: a2a+p2p
    hierarchical_context_parallel_sizes: [2, 2, 2]
    ```

    ## Use instead

    ```yaml
    context_parallel_size: 8
    cp_comm_type: a2a+p2p
    hierarchical_context_parallel_sizes: [4, 2]
    ```

    ## References/versions

    Every version of Transformer Engine that has `a2a+p2p`, from 1.12 on.
    """

    code = "HCP003"
    slug = "two-levels"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference("transformer_engine/pytorch/attention.py:4284 at v1.12"),
        Reference("transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:5018-5020 at v2.18"),
        Reference(
            "measured: [4] and [2,2,1] assert in the first forward, megatron-core 0.19.2, Transformer Engine 2.20.2"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Leave a wrong product to HCP002: it ends the run earlier."""
        sizes = level_sizes(config)
        if len(sizes) in (0, 2) or not builds_levels(config) or not wants_levels(config):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or prod(sizes) != cp or not uses_te_core(config):
            return
        yield Verdict(
            f"hierarchical_context_parallel_sizes {listed(sizes)} has {len(sizes)} level{'s' * (len(sizes) > 1)}; "
            f"{A2A_P2P} needs exactly two. Start-up passes, and every rank stops with Transformer Engine's "
            "assertion in the first forward.",
            Outcome.CRASH_LATE,
            at="hierarchical_context_parallel_sizes",
            fields=("cp_comm_type", "context_parallel_size"),
            fix=_fix(config, sizes, cp),
        )


def _fix(config: EffectiveConfig, sizes: tuple[int, ...], cp: int) -> Fix:
    better = levels_for(cp)
    if better is None:
        return Fix(f"Set cp_comm_type to a2a or p2p: {cp} has no two levels above 1.")
    value = config.value("hierarchical_context_parallel_sizes")
    return Fix(
        f"Set hierarchical_context_parallel_sizes to {listed(better)}.",
        swap_sizes(value, sizes, better),
        safe=only_levels(cp) is not None,
    )


RULE = TwoLevels
