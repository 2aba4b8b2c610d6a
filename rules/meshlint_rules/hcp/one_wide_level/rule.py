"""HCP010: a level of one rank."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from meshlint.config.attention import A2A_P2P, builds_levels, level_sizes, listed, swap, taken_as, wants_levels
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict


class OneWideLevel(LaunchRule):
    """A level of one rank.

    ## What it does

    Finds `hierarchical_context_parallel_sizes` of `[1, n]` or `[n, 1]` with `a2a+p2p`.

    ## Why this is bad

    It is not wrong: Transformer Engine runs `[1, n]` as plain p2p and `[n, 1]` as plain a2a, with the same results.
    It says something else than what runs, and it takes groups that nobody needs.

    ## Example

    ```yaml
    context_parallel_size: 4
    cp_comm_type: a2a+p2p
    hierarchical_context_parallel_sizes: [4, 1]
    ```

    ## Use instead

    ```yaml
    context_parallel_size: 4
    cp_comm_type: a2a
    ```

    ## References/versions

    Every version of Transformer Engine that has `a2a+p2p`, from 1.12 on.
    """

    code = "HCP010"
    slug = "one-wide-level"
    severity = Severity.INFO
    outcomes = (Outcome.NONE,)
    references = (
        Reference("transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:5027-5033 at v2.18"),
        Reference("measured: [4, 1] equals a2a and [1, 4] equals p2p, Transformer Engine 2.20.2"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Speak only where both levels reach Transformer Engine."""
        sizes = level_sizes(config)
        if len(sizes) != 2 or 1 not in sizes or not builds_levels(config) or not wants_levels(config):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or prod(sizes) != cp:
            return
        plain = taken_as(A2A_P2P, sizes)
        yield Verdict(
            f"hierarchical_context_parallel_sizes {listed(sizes)} has a level of one rank: Transformer Engine runs "
            f"{A2A_P2P} as plain {plain} over the {cp} ranks, with the same results.",
            Outcome.NONE,
            at="hierarchical_context_parallel_sizes",
            fields=("cp_comm_type", "context_parallel_size"),
            fix=Fix(
                f"Set cp_comm_type to {plain} and take the sizes away.",
                swap(config.value("cp_comm_type"), A2A_P2P, plain),
            ),
        )


RULE = OneWideLevel
