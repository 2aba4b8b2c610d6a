"""CTX005: an attention sink without a2a."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import comm_types, level_sizes, taken_as, uses_te_core
from meshlint.config.packing import packed_needs
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

SINKS = Window(
    "transformer-engine",
    since="2.8",
    says="softmax types other than vanilla exist, under context parallelism with a2a only",
    source="transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:3761-3763 at v2.8",
)


class AttentionSink(LaunchRule):
    """An attention sink under context parallelism without a2a.

    ## What it does

    Finds a `softmax_type` other than `vanilla` (off-by-one, learnable: gpt-oss and its like) with cp > 1 and an
    exchange other than `a2a`.

    ## Why this is bad

    Transformer Engine does softmax sinks under context parallelism with `a2a` only. With p2p, the default, no attention
    backend is left, or an assertion says so, in the first forward pass. No argument check looks at it.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --softmax-type learnable --context-parallel-size 2
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --softmax-type learnable --context-parallel-size 2 --cp-comm-type a2a
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "CTX005"
    slug = "attention-sink"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (SINKS,)
    references = (
        Reference("transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:5065 at v2.18"),
        Reference("transformer_engine/pytorch/attention/dot_product_attention/utils.py:1053 at v2.18"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a sink first: most models have none."""
        kind = config.data("softmax_type")
        if kind in (None, "vanilla"):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        wrong = next((comm for comm in comm_types(config) if comm != "a2a"), None)
        if wrong is None or taken_as(wrong, level_sizes(config)) == "a2a" or not config.within(SINKS):
            return
        given = wrong if config.value("cp_comm_type").is_set else f"{wrong}, which is what runs where nothing is set"
        yield Verdict(
            f"softmax_type {kind} needs cp_comm_type a2a under context parallelism (cp = {cp}); it is {given}. "
            "Start-up passes, and every rank stops in the first forward: Transformer Engine has no attention "
            "backend for it.",
            Outcome.CRASH_LATE,
            at="softmax_type",
            fields=("cp_comm_type", "context_parallel_size"),
            fix=Fix(
                "Set cp_comm_type to a2a, with a cp that divides heads and key-value groups per tensor parallel rank"
                f"{packed_needs(config, '2.10')}."
            ),
        )


RULE = AttentionSink
