"""PKD002: packed sequences with all_gather on an old Transformer Engine."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import comm_types, swap, uses_te_core
from meshlint.config.packing import is_packed, packed_why
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

REFUSED = Window(
    "transformer-engine",
    until="2.18",
    says="packed (THD) sequences are refused with all_gather",
    source="transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:3064 at v2.17; "
    ":3075 at v2.18 takes them; pytorch/attention.py:3052 at v1.11",
)


class PackedAllGather(LaunchRule):
    """Packed sequences with `all_gather` on a Transformer Engine that refuses them.

    ## What it does

    Finds packed sequences (THD) with cp > 1 and a `cp_comm_type` of `all_gather` where Transformer Engine is older than
    2.18.

    ## Why this is bad

    Transformer Engine asserts in the first forward pass that the layout is not THD, and before that that the mask is
    not the one that packed sequences bring ("padding_causal mask type is not supported!"). No argument check looks at
    it.

    ## Example

    ```bash
    swift megatron sft --packing true --context_parallel_size 2 --cp_comm_type all_gather
    ```

    ## Use instead

    ```bash
    swift megatron sft --packing true --context_parallel_size 2 --cp_comm_type p2p
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "PKD002"
    slug = "packed-all-gather"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (REFUSED,)
    references = (Reference("measured on 2.20.2: packed all_gather runs"),)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for all_gather first: few configs have it."""
        if "all_gather" not in comm_types(config):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not is_packed(config) or not uses_te_core(config) or not config.within(REFUSED):
            return
        yield Verdict(
            f"cp_comm_type all_gather over cp = {cp} ranks cannot do packed (THD) sequences{packed_why(config)}"
            " before Transformer "
            "Engine 2.18: start-up passes, and every rank stops with an assertion in the first forward.",
            Outcome.CRASH_LATE,
            at="cp_comm_type",
            fields=("packed_sequences", "context_parallel_size"),
            fix=Fix(
                "Use Transformer Engine 2.18 or newer, or set cp_comm_type to p2p.",
                swap(config.value("cp_comm_type"), "all_gather", "p2p"),
            ),
        )


RULE = PackedAllGather
