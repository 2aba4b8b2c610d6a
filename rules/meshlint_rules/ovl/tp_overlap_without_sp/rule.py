"""OVL002: tensor parallel overlap without sequence parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Window

LAYERS = Window(
    "transformer-engine",
    since="2.0",
    says="layers leave the overlap off without sequence parallelism",
    source="transformer_engine/pytorch/module/linear.py:756 at v2.0; :745 at v1.13 asks nothing",
)


class TpOverlapWithoutSp(LaunchRule):
    """Tensor parallel communication that overlaps with matrix products, without sequence parallelism.

    ## What it does

    Finds `tp_comm_overlap` where sequence parallelism is off, with tp > 1; and with tp = 1 too, where it is refused.

    ## Why this is bad

    The overlap splits the all-gather and the reduce-scatter of sequence parallelism; without it there is nothing to
    split. Megatron-LM's argument check asserts it, ms-swift raises: every rank stops at start. Megatron-Bridge and NeMo
    2 switch the overlap off in their overlap settings with a line in the log, and Transformer Engine's layers leave it
    off without one: the run is slower than its config says. With tp = 1 there is nothing to overlap and nothing is
    lost, so that only a check that refuses it is told.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --tp-comm-overlap
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --tp-comm-overlap --sequence-parallel
    ```

    ## References/versions

    The checks stand in every version so far; for the layers, see below.
    """

    code = "OVL002"
    slug = "tp-overlap-without-sp"
    outcomes = (Outcome.CRASH_START, Outcome.IGNORED)
    windows = (LAYERS,)
    references = (
        Reference("megatron/training/arguments.py:200 at core_v0.8.0; :916 at core_v0.16.1; :1402 at core_v0.19.0"),
        Reference("src/megatron/bridge/training/comm_overlap.py:441-448 at 067f987df; :430 at v0.4.0"),
        Reference("swift/megatron/arguments/megatron_args.py:897 of ms-swift at 3602360a"),
        Reference("nemo/lightning/pytorch/callbacks/megatron_comm_overlap.py:146 of NeMo 2"),
        Reference(
            "transformer_engine/pytorch/module/linear.py, Linear.__init__, at v2.8: ub_overlap_* and sequence_parallel"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the overlap first: most configs have it off."""
        if not config.data("tp_comm_overlap"):
            return
        tp = config.number("tensor_model_parallel_size")
        written = config.data("sequence_parallel")
        if written and tp > 1:
            return
        state = "switched off at tensor_model_parallel_size = 1" if written else "off"
        checks = config.habit("checks_tp_overlap")
        if checks == "assert":
            yield _verdict(state, "the argument check refuses it, and every rank stops at start", Outcome.CRASH_START)
        elif tp > 1 and (checks == "off" or config.within(LAYERS)):
            yield _verdict(state, "the overlap stays off, without an error", Outcome.IGNORED, Severity.WARNING)


def _verdict(state: str, what: str, outcome: Outcome, severity: Severity | None = None) -> Verdict:
    return Verdict(
        f"tp_comm_overlap with sequence_parallel {state}: {what}.",
        outcome,
        at="tp_comm_overlap",
        fields=("sequence_parallel", "tensor_model_parallel_size"),
        severity=severity,
        fix=Fix("Turn sequence_parallel on with tensor_model_parallel_size above 1, or tp_comm_overlap off."),
    )


RULE = TpOverlapWithoutSp
