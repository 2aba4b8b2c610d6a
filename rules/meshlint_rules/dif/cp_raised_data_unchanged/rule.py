"""DIF003: cp is raised, and the file of packed sequences stays the one that was made for less."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.packing import is_packed
from meshlint.config.value import Value
from meshlint.rule import (
    EffectiveConfig,
    Fix,
    LaunchChangeRule,
    Outcome,
    Reference,
    Related,
    Severity,
    Verdict,
)

PATHS = (
    "dataset.offline_packing_specs.packed_train_data_path",
    "dataset.packed_sequence_specs.packed_train_data_path",
    "data.packed_sequence_specs.packed_train_data_path",
)
"""Keys of files that hold packed sequences. Source: Megatron-Bridge v0.3.1 data/datasets/packed_sequence.py:223, main
data/packing/config.py; NeMo 2.0.0 collections/llm/gpt/data/packed_sequence.py."""


class CpRaisedDataUnchanged(LaunchChangeRule):
    """A change raises context parallelism, and the file of packed sequences is the one that was there before.

    ## What it does

    Finds a launch whose `context_parallel_size` a change raises while it goes on reading the same file of packed
    sequences (`packed_train_data_path`), and whose pad multiple did not cover the new size before. The sequences in
    that file are padded to what was asked for when it was packed; a new `pad_seq_to_mult` beside it changes nothing.
    Where no path is written, Megatron-Bridge puts the pad into the name of the file and packs anew: silent. Where the
    multiple itself is too small, PKD005 tells it. Only under `--diff`.

    ## Why this is bad

    Under context parallelism each sequence of a pack is cut into 2 * cp chunks. One whose length does not divide is
    cut short, without an error: tokens are dropped and others doubled (measured for PKD005).

    ## Example

    ```diff
    -cfg.model.context_parallel_size = 2
    +cfg.model.context_parallel_size = 4
     cfg.dataset.offline_packing_specs.packed_train_data_path = "/data/packed.parquet"
    ```

    ## Use instead

    ```python
    cfg.model.context_parallel_size = 4
    cfg.dataset.offline_packing_specs.pad_seq_to_mult = 8
    cfg.dataset.offline_packing_specs.packed_train_data_path = "/data/packed_for_cp4.parquet"  # packed anew
    ```

    ## References/versions

    It needs a change: without `--diff` or `--diff-file`, nothing is judged.
    """

    code = "DIF003"
    slug = "cp-raised-data-unchanged"
    severity = Severity.WARNING
    outcomes = (Outcome.WRONG,)
    words = ("cp", "context")
    frameworks = ("megatron-bridge", "nemo2")
    references = (
        Reference("Megatron-Bridge v0.3.1 src/megatron/bridge/data/builders/finetuning_dataset.py:243, :285"),
        Reference("docs/rules/PKD005.md: what an odd length costs, measured"),
    )

    def check(self, before: EffectiveConfig, after: EffectiveConfig) -> Iterator[Verdict]:
        """Compare cp, the file and the pad of both sides."""
        was, cp = before.number("context_parallel_size"), after.number("context_parallel_size")
        file = _file(after)
        if cp <= max(was, 1) or file is None or not _same(_file(before), file):
            return
        if not is_packed(before) or not is_packed(after):
            return
        old, new = _pad(before), _pad(after)
        if old % (2 * cp) == 0 or (new > 1 and new % (2 * cp)):
            return
        yield _verdict(file, was, cp, old, new)


def _file(config: EffectiveConfig) -> Value | None:
    found = [value for key in PATHS if (value := config.launch.find(key)) is not None]
    return next((value for value in found if value.is_set and value.data is not None), None)


def _same(before: Value | None, after: Value) -> bool:
    return before is not None and before.data == after.data


def _pad(config: EffectiveConfig) -> int:
    """Give the multiple that sequences are padded to when they are packed; 1 where nothing says so."""
    data = config.data("pad_multiple")
    return data if isinstance(data, int) and data > 0 else 1


def _verdict(file: Value, was: int, cp: int, old: int, new: int) -> Verdict:
    how = f"padded to a multiple of {old}" if old > 1 else "not padded"
    also = f" A pad_seq_to_mult of {new} counts when a file is packed, not when it is read." if new != old else ""
    where = (Related(file.span, "the same file as before"),) if file.span is not None else ()
    return Verdict(
        f"context_parallel_size goes from {was} to {cp}, and the sequences are still read from {file.data}: they were "
        f"packed for {was}, {how}, and {cp} cuts each into {2 * cp} chunks. Where a length does not divide by "
        f"{2 * cp}, tokens are dropped and others doubled, without an error.{also}",
        Outcome.WRONG,
        at="context_parallel_size",
        related=where,
        fix=Fix(f"Pack the data anew with pad_seq_to_mult = {2 * cp}, into another file, and read that."),
    )


RULE = CpRaisedDataUnchanged
