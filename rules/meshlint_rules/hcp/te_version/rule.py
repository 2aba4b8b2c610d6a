"""HCP005: two-level context parallelism on an old Transformer Engine."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, builds_levels, swap, uses_te_core, wants_levels
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

OLD = Window(
    "transformer-engine",
    until="1.12",
    says="the layer's constructor asserts Transformer Engine >= 1.12.0 for a2a+p2p",
    source="megatron/core/extensions/transformer_engine.py:1243 at core_v0.16.1; the class has it from core_v0.10.0",
)


class TeVersion(LaunchRule):
    """Two-level context parallelism on a Transformer Engine that does not have it.

    ## What it does

    Finds a `cp_comm_type` of `a2a+p2p` with cp > 1 where Transformer Engine is older than 1.12.

    ## Why this is bad

    No argument check knows of it: the assertion stands in the constructor of the attention layer, so every rank stops
    while the model is built.

    ## Example

    ```bash
    pip install transformer-engine==1.11.0
    torchrun pretrain_gpt.py --context-parallel-size 4 --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 2 2
    ```

    ## Use instead

    ```bash
    pip install "transformer-engine>=1.12"
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by. It speaks where something pins Transformer
    Engine to an old version: what nothing pins counts as at least 1.13, the release before megatron-core 0.10, which
    is the first that has `a2a+p2p`.
    """

    code = "HCP005"
    slug = "te-version"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (OLD,)
    references = (Reference("transformer_engine/pytorch/attention.py:4279 at v1.12 has a2a+p2p; v1.11 does not"),)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a2a+p2p first: most configs end there."""
        if not wants_levels(config) or not builds_levels(config):
            return
        if config.number("context_parallel_size") <= 1 or not uses_te_core(config) or not config.within(OLD):
            return
        yield Verdict(
            f"cp_comm_type asks for {A2A_P2P}, which Transformer Engine does not have before 1.12: every rank stops "
            "while the first attention layer is built, with an assertion that wants 1.12.0.",
            Outcome.CRASH_LATE,
            at="cp_comm_type",
            fields=("context_parallel_size",),
            fix=Fix(
                "Use Transformer Engine 1.12.0 or newer, or set cp_comm_type to p2p.",
                swap(config.value("cp_comm_type"), A2A_P2P, "p2p"),
            ),
        )


RULE = TeVersion
