"""PKD004: packed sequences with a2a+p2p on a Transformer Engine that refuses them."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, builds_levels, level_sizes, swap, uses_te_core, wants_levels
from meshlint.config.packing import is_packed, packed_why
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

REFUSED = Window(
    "transformer-engine",
    since="1.12",
    until="2.19",
    says="packed (THD) sequences are refused with a2a+p2p",
    source="transformer_engine/pytorch/attention.py:1689 at v1.12; .../context_parallel.py:5022 at v2.18; "
    "not there in the 2.19.0 wheel (:5520-5532)",
)
BY_GROUP = Window(
    "transformer-engine",
    since="1.12",
    until="2.8",
    says="a level of one rank is taken away before the test",
    source="transformer_engine/pytorch/attention.py:4285 and :1686 at v1.12; at v2.8 the test stands first (:3707)",
)


class PackedA2aP2p(LaunchRule):
    """Packed sequences with `a2a+p2p` on a Transformer Engine that refuses them.

    ## What it does

    Finds packed sequences (THD) with cp > 1 and a `cp_comm_type` of `a2a+p2p` on Transformer Engine 1.12 to 2.18.

    ## Why this is bad

    Transformer Engine asserts in the first forward pass that the layout is not THD. No argument check looks at it.

    ## Example

    ```python
    cfg.dataset.enable_offline_packing = True
    cfg.model.context_parallel_size = 4
    cfg.model.cp_comm_type = "a2a+p2p"
    cfg.model.hierarchical_context_parallel_sizes = [2, 2]
    ```

    ## Use instead

    ```python
    cfg.dataset.enable_offline_packing = True
    cfg.model.context_parallel_size = 4
    cfg.model.cp_comm_type = "p2p"
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "PKD004"
    slug = "packed-a2a-p2p"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (REFUSED, BY_GROUP)
    references = (
        Reference(
            "transformer_engine 2.19.0 and 2.20.2, dot_product_attention/context_parallel.py: the assertion is gone"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a2a+p2p first; without sizes context parallelism is off, which HCP001 says."""
        sizes = level_sizes(config)
        if not wants_levels(config) or len(sizes) != 2 or not builds_levels(config):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not is_packed(config) or not uses_te_core(config) or not config.within(REFUSED):
            return
        if sizes[0] == 1 and config.within(BY_GROUP):
            return
        yield Verdict(
            f"cp_comm_type {A2A_P2P} over cp = {cp} ranks cannot do packed (THD) sequences{packed_why(config)}"
            " on Transformer Engine "
            "1.12 to 2.18: start-up passes, and every rank stops with an assertion in the first forward.",
            Outcome.CRASH_LATE,
            at="cp_comm_type",
            fields=("packed_sequences", "context_parallel_size", "hierarchical_context_parallel_sizes"),
            fix=Fix(
                "Use Transformer Engine 2.19 or newer, or set cp_comm_type to p2p.",
                swap(config.value("cp_comm_type"), A2A_P2P, "p2p"),
            ),
        )


RULE = PackedA2aP2p
