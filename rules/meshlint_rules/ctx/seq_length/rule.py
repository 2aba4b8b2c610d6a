"""CTX001: a sequence that cp cannot split."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import swap
from meshlint.config.sizes import LARGEST
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class SeqLength(LaunchRule):
    """A sequence length that context parallelism cannot split.

    ## What it does

    Finds a `seq_length` that is not a multiple of `2 * context_parallel_size`, with cp > 1, where every sample has that
    length: Megatron-LM's command line and Megatron-Bridge. Frameworks that pad each sequence themselves (verl, slime,
    ms-swift, NeMo-RL) are left out.

    ## Why this is bad

    Each rank gets two chunks of every sequence, one from the front and one from the back, so that causal attention is
    even. The arguments are checked at start, and every rank stops there.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --seq-length 4100 --context-parallel-size 4
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --seq-length 4096 --context-parallel-size 4
    ```

    ## References/versions

    Every version so far.
    """

    code = "CTX001"
    slug = "seq-length"
    outcomes = (Outcome.CRASH_START, Outcome.CRASH_LATE)
    references = (
        Reference("megatron/training/arguments.py:817-820 at core_v0.16.1; :511 at core_v0.10.0"),
        Reference("src/megatron/bridge/training/config.py:1177 at v0.4.0; :1038 at v0.1.0rc4"),
        Reference("measured: 4100 tokens with cp = 4 end in a view error of the batch slicer where nothing checks"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for cp first: it is 1 in most configs."""
        if not config.habit("seq_is_tensor_length"):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or config.data("seq_length") is None:
            return
        seq = config.number("seq_length")
        if seq % (2 * cp) == 0:
            return
        if config.habit("checks_seq_for_cp"):
            yield _verdict(config, seq, 2 * cp, Outcome.CRASH_START, f"{config.framework.title} asserts it at start")
        elif not config.data("packed_sequences"):
            yield _verdict(config, seq, 2 * cp, Outcome.CRASH_LATE, "slicing the first batch fails with a view error")


def _verdict(config: EffectiveConfig, seq: int, unit: int, outcome: Outcome, how: str) -> Verdict:
    return Verdict(
        f"seq_length {seq} is not a multiple of 2 * context_parallel_size = {unit} ({seq} = {seq // unit} * {unit} + "
        f"{seq % unit}): {how}, and every rank stops.",
        outcome,
        at="seq_length",
        fields=("context_parallel_size",),
        fix=_fix(config, seq, unit),
    )


def _fix(config: EffectiveConfig, seq: int, unit: int) -> Fix:
    lower, upper = seq // unit * unit, (seq // unit + 1) * unit
    fits = [length for length in (lower, upper) if 0 < length <= _longest(config, upper)]
    sizes = _sizes(seq, unit // 2)
    ways = [f"seq_length to {' or '.join(map(str, fits))}"] if fits else []
    ways += [f"context_parallel_size to {' or '.join(map(str, sizes))}"] if sizes else []
    best = min(fits, key=lambda length: abs(length - seq), default=seq)
    return Fix(f"Set {', or '.join(ways)}.", swap(config.value("seq_length"), str(seq), str(best)) if fits else ())


def _longest(config: EffectiveConfig, upper: int) -> int:
    """Give the longest sample that the model can embed; no bound where that is not known."""
    data = config.value("max_position_embeddings").data
    return data if isinstance(data, int) and data > 0 else upper


def _sizes(seq: int, cp: int) -> list[int]:
    """Give the nearest context parallel sizes, below and above, that the length suits."""
    below = [size for size in range(1, min(cp, LARGEST)) if seq % (2 * size) == 0][-1:]
    above = [size for size in range(cp + 1, min(2 * cp, LARGEST)) if seq % (2 * size) == 0][:1]
    return below + above


RULE = SeqLength
