"""CTX005: an attention sink without a2a."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import comm_types, level_sizes, taken_as, uses_te_core
from meshlint.config.packing import is_packed, packed_needs, packed_why
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

SINKS = Window(
    "transformer-engine",
    since="2.8",
    says="softmax types other than vanilla exist, under context parallelism with a2a only",
    source="transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:3761-3763 at v2.8",
)
PACKED = Window(
    "transformer-engine",
    since="2.8",
    until="2.12",
    says="softmax types other than vanilla are refused with packed (THD) sequences; from 2.12 on with cuDNN before "
    "9.18 only",
    source="transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:3764 at v2.8, :4048 at "
    "v2.11; below a test of cuDNN at v2.12",
)


class AttentionSink(LaunchRule):
    """An attention sink under context parallelism without a2a.

    ## What it does

    Finds a `softmax_type` other than `vanilla` (off-by-one, learnable: gpt-oss and its like) with cp > 1 and an
    exchange other than `a2a`; and on Transformer Engine 2.8 to 2.11 with packed sequences, whatever the exchange.

    ## Why this is bad

    Transformer Engine does softmax sinks under context parallelism with `a2a` only. With p2p, the default, no attention
    backend is left, or an assertion says so, in the first forward pass. Packed sequences with a sink are refused there
    before 2.12, and later where cuDNN is older than 9.18, which a config does not tell. No argument check looks at it.

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
    windows = (SINKS, PACKED)
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
        if wrong is None or taken_as(wrong, level_sizes(config)) == "a2a":
            yield from _packed(config, str(kind), cp)
            return
        if not config.within(SINKS):
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


def _packed(config: EffectiveConfig, kind: str, cp: int) -> Iterator[Verdict]:
    if not config.within(PACKED) or not is_packed(config):
        return
    yield Verdict(
        f"softmax_type {kind} with packed (THD) sequences{packed_why(config)} is refused under context parallelism "
        f"(cp = {cp}) before Transformer Engine 2.12: start-up passes, and every rank stops in the first forward.",
        Outcome.CRASH_LATE,
        at="softmax_type",
        fields=("packed_sequences", "cp_comm_type", "context_parallel_size"),
        subject="packed",
        fix=Fix("Use Transformer Engine 2.12 or newer with cuDNN 9.18 or newer, or leave the sequences unpacked."),
    )


RULE = AttentionSink
