"""PAR006: a sequence that tensor parallel ranks cannot split."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from meshlint.config.sizes import positive
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict

SP = "sequence_parallel"
TP = "tensor_model_parallel_size"
CP = "context_parallel_size"


class SequenceParallelLength(LaunchRule):
    """A sequence length that sequence parallelism cannot split.

    ## What it does

    Finds `seq_length / context_parallel_size` that is not a multiple of `tensor_model_parallel_size`, with sequence
    parallelism on, where every sample has that length: Megatron-LM's command line, Megatron-Bridge and NeMo 2,
    unpacked. A length that context parallelism itself cannot split is CTX001's.

    ## Why this is bad

    Sequence parallelism gives each tensor parallel rank an equal part of the sequence. Nothing checks the length at
    start: the first scatter fails an assertion in the first forward pass, on every rank.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --seq-length 1022 --tensor-model-parallel-size 4 --sequence-parallel
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --seq-length 1024 --tensor-model-parallel-size 4 --sequence-parallel
    ```

    ## References/versions

    Every version so far.
    """

    code = "PAR006"
    slug = "sequence-parallel-length"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference("megatron/core/tensor_parallel/mappings.py:66-70, :174 at core_v0.16.1; :69 at core_v0.10.0"),
        Reference("megatron/core/tensor_parallel/mappings.py:74, :178 at core_v0.19.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for tp first: with one rank there is nothing to split."""
        if not config.habit("seq_is_tensor_length") or config.number(TP) <= 1 or not config.data(SP):
            return
        if config.data("seq_length") is None or config.data("training") is False or _varies(config):
            return
        tp, cp, seq = positive(config, TP), positive(config, CP), positive(config, "seq_length")
        if seq % cp or (seq // cp) % tp == 0 or config.data("packed_sequences"):
            return
        unit = tp * cp if cp == 1 else lcm(2 * cp, tp * cp)
        lower, upper = seq // unit * unit, (seq // unit + 1) * unit
        length = f"seq_length / {CP} = {seq} / {cp} = {seq // cp}" if cp > 1 else f"seq_length = {seq}"
        yield Verdict(
            f"{length} is not a multiple of {TP} = {tp}, and {SP} is on: the first scatter of the activations fails an "
            "assertion in the first forward pass, on every rank.",
            Outcome.CRASH_LATE,
            at="seq_length",
            fields=(TP, CP, SP),
            fix=Fix(f"Set seq_length to {f'{lower} or {upper}' if lower else upper}."),
        )


def _varies(config: EffectiveConfig) -> bool:
    """Say whether another length than `seq_length` reaches the layers: an encoder's, or one for each micro-batch."""
    return bool(config.data("variable_seq_lengths")) or config.launch.find("decoder_seq_length") is not None


RULE = SequenceParallelLength
