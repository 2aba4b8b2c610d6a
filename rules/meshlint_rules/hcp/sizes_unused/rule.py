"""HCP007: level sizes that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from meshlint.config.attention import A2A_P2P, builds_levels, comm_types, level_sizes, listed, wants_levels
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict


class SizesUnused(LaunchRule):
    """Level sizes that no layer uses.

    ## What it does

    Finds `hierarchical_context_parallel_sizes` where no layer's `cp_comm_type` is `a2a+p2p`.

    ## Why this is bad

    The extra groups are built and never used; attention runs with the comm type that is set, p2p where none is. Who
    wrote the sizes meant the two-level exchange and does not get it.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 8 --hierarchical-context-parallel-sizes 4 2
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 8 --hierarchical-context-parallel-sizes 4 2 --cp-comm-type a2a+p2p
    ```

    ## References/versions

    Every version so far.
    """

    code = "HCP007"
    slug = "sizes-unused"
    severity = Severity.WARNING
    outcomes = (Outcome.IGNORED,)
    references = (Reference("measured: sizes with p2p are accepted and ignored, megatron-core 0.16.1 and 0.19.2"),)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Leave a wrong product to HCP002: it ends the run at start."""
        sizes = level_sizes(config)
        if not sizes or wants_levels(config):
            return
        cp = config.number("context_parallel_size")
        if builds_levels(config) and prod(sizes) != cp:
            return
        types = ", ".join(sorted(set(comm_types(config))))
        yield Verdict(
            f"hierarchical_context_parallel_sizes {listed(sizes)} is set, but no layer uses {A2A_P2P}: attention runs "
            f"with {types} over all {cp} ranks and the sizes do nothing.",
            Outcome.IGNORED,
            at="hierarchical_context_parallel_sizes",
            fields=("cp_comm_type", "context_parallel_size"),
            fix=Fix(f"Set cp_comm_type to {A2A_P2P}, or take the sizes away."),
        )


RULE = SizesUnused
