"""CFG001: one key twice in one place."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.launch import Launch, Write
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Related, Severity, Verdict


class DuplicateKey(LaunchRule):
    """One key twice in one place, with different values.

    ## What it does

    Finds a flag that one command gives twice, or a key that one YAML mapping holds twice, with different values. A
    later layer that overrides an earlier one (a command over a file, a file over its base) is not meant.

    ## Why this is bad

    The last one counts, and the other does nothing. Who reads or edits the first one is misled.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 --seq-length 8192
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --seq-length 8192 --micro-batch-size 1
    ```

    ## References/versions

    Every version; argparse keeps the last occurrence of a flag, YAML loaders the last occurrence of a key.
    """

    code = "CFG001"
    slug = "duplicate-key"
    severity = Severity.WARNING
    outcomes = (Outcome.IGNORED,)
    references = (Reference("argparse", "https://docs.python.org/3/library/argparse.html#action"),)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at the writes themselves; a role has the same ones as its launch."""
        if config.role != config.framework.roles(config.launch)[0]:
            return
        for key in sorted({write.key for write in config.launch.writes if write.same_place}):
            yield from _differing(config.launch, key)


def _differing(launch: Launch, key: str) -> Iterator[Verdict]:
    before: Write | None = None
    for write in launch.history(key):
        if before is not None and write.same_place and _differ(before, write):
            yield _verdict(before, write)
        before = write


def _differ(before: Write, after: Write) -> bool:
    """Say whether one file gives two values; another file that is sourced or merged first is a layer of its own."""
    first, second = before.value, after.value
    if first.is_unknown or second.is_unknown or first.data == second.data:
        return False
    return first.span is not None and second.span is not None and first.span.path == second.span.path


def _verdict(before: Write, after: Write) -> Verdict:
    first, second = before.value, after.value
    place = f" (line {first.span.line})" if first.span is not None else ""
    related = (
        (Related(first.span, f"{after.key} = {first.data}, which does nothing"),) if first.span is not None else ()
    )
    return Verdict(
        f"{after.key} is given twice: {second.data} counts, and {first.data}{place} does nothing.",
        Outcome.IGNORED,
        span=second.span,
        related=related,
        subject=after.key,
        scope=next((o.scope for o in second.origins if o.scope), ""),
        fix=Fix("Take one of the two away."),
    )


RULE = DuplicateKey
