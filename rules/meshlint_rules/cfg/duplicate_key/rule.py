"""CFG001: one key twice in one place."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.launch import Launch, Write
from meshlint.config.value import Value
from meshlint.place import Span
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Related, Severity, Verdict, Wish

REFUSED = {
    "verl": "hydra.main, verl/trainer/main_ppo.py:166 at 1dda039b9",
    "nemo-rl": "OmegaConf.load, nemo_rl/utils/config.py:69 at main",
    "roll": "hydra.compose, examples/start_rlvr_pipeline.py:23 at main",
    "areal": "hydra.compose, areal/api/cli_args.py:2908 at main",
    "megatron-bridge": "OmegaConf.load, src/megatron/bridge/training/utils/omegaconf_utils.py:147 at main",
}
"""Frameworks whose YAML is read by omegaconf, which refuses a key that one mapping holds twice, and where they do."""

MAX_TOLD = 100
"""Characters told of a value."""


class DuplicateKey(LaunchRule):
    """One key twice in one place, with different values.

    ## What it does

    Finds a flag that one list of a command gives twice (the words on the command itself, one array, one option
    string), with different values, and a key that one YAML mapping holds twice. What overrides on purpose is not
    meant: a flag behind an array (`"${ARGS[@]}" --seq-length 8192`), another array or string, a string that is added
    to, a list that grows under a condition, a file over its base, what only some branches of a script have.

    ## Why this is bad

    On a command, and in the YAML of Megatron-LM, the last one counts and the other does nothing: who reads or edits
    the first one is misled. omegaconf, which reads the YAML of verl, NeMo-RL, ROLL, AReaL and Megatron-Bridge, refuses
    the file, whether the values differ or not: "found duplicate key", before anything starts.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 --seq-length 8192
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --seq-length 8192 --micro-batch-size 1
    ```

    ## References/versions

    Every version; argparse and PyYAML keep the last occurrence, Hydra the last word of a command.
    """

    code = "CFG001"
    slug = "duplicate-key"
    severity = Severity.WARNING
    outcomes = (Outcome.IGNORED, Outcome.CRASH_START)
    every_variant = True
    references = (
        Reference("argparse", "https://docs.python.org/3/library/argparse.html#action"),
        Reference(
            "omegaconf/_utils.py:137-150 of omegaconf 2.3.1, OmegaConfLoader: ConstructorError for a duplicate key"
        ),
        *(Reference(f"{name}: {where}") for name, where in REFUSED.items()),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at the writes themselves; a role has the same ones as its launch."""
        if config.role != config.framework.roles(config.launch)[0]:
            return
        for key in sorted({write.key for write in config.launch.writes if write.same_place}):
            yield from _twice(config, key)


def _twice(config: EffectiveConfig, key: str) -> Iterator[Verdict]:
    before: Write | None = None
    for write in config.launch.history(key):
        if before is not None and write.same_place and _one_list(config.launch, before.value, write.value):
            yield from _judged(config, before, write)
        before = write


def _one_list(launch: Launch, first: Value, second: Value) -> bool:
    """Say whether two values stand in one file, the second not behind a condition."""
    one, other = _places(first, second)
    if one is None or other is None or one.path != other.path:
        return False
    lines = range(one.line, other.line + 1)
    return not any(b.span.path == one.path and b.span.line in lines for b in launch.branches)


def _places(first: Value, second: Value) -> tuple[Span | None, Span | None]:
    """Give the places of two values in the list that holds both: of `$A` in `--seq-length $A`, not of `A=1`."""
    one, other = _uses(first), _uses(second)
    while one and other and one[-1] == other[-1]:  # the expansions that brought the list itself
        one, other = one[:-1], other[:-1]
    return one[0] if one else first.span, other[0] if other else second.span


def _uses(value: Value) -> tuple[Span, ...]:
    """Give the expansions that a value came through, `${ARGS[@]}` and the like: none for a literal."""
    return tuple(o.span for o in value.origins[1:] if o.span is not None and "$" in o.text)


def _judged(config: EffectiveConfig, before: Write, after: Write) -> Iterator[Verdict]:
    first, second = before.value, after.value
    if _in_yaml(second) and config.framework.name in REFUSED:
        yield _refused(config, before, after)
    elif not first.is_unknown and not second.is_unknown and first.data != second.data:
        yield _ignored(before, after)


def _in_yaml(value: Value) -> bool:
    return value.span is not None and value.span.path.endswith((".yaml", ".yml"))


def _refused(config: EffectiveConfig, before: Write, after: Write) -> Verdict:
    return _verdict(
        before,
        after,
        Outcome.CRASH_START,
        f"{after.key} stands twice in one mapping{_line(before, after)}: omegaconf, which reads this file for "
        f"{config.framework.title}, raises ConstructorError (found duplicate key) at start, before any rank trains.",
        f"{after.key} stands here too",
    )


def _ignored(before: Write, after: Write) -> Verdict:
    first, second = before.value, after.value
    return _verdict(
        before,
        after,
        Outcome.IGNORED,
        f"{after.key} is given twice: {_told(second)} counts, and {_told(first)}{_line(before, after)} does nothing.",
        f"{after.key} = {_told(first)}, which does nothing",
    )


def _told(value: Value) -> str:
    """Write a value; several words as they stand on a command line, a long text cut."""
    text = " ".join(map(str, value.data)) if isinstance(value.data, tuple) else str(value.data)
    return text if len(text) <= MAX_TOLD else f"{text[:MAX_TOLD]}..."


def _line(before: Write, after: Write) -> str:
    place, _ = _places(before.value, after.value)
    return f" (first on line {place.line})" if place is not None else ""


def _verdict(before: Write, after: Write, outcome: Outcome, message: str, note: str) -> Verdict:
    first, second = _places(before.value, after.value)
    return Verdict(
        message,
        outcome,
        span=second,
        related=(Related(first, note),) if first is not None else (),
        subject=after.key,
        scope=next((o.scope for o in after.value.origins if o.scope), ""),
        severity=Severity.ERROR if outcome is Outcome.CRASH_START else None,
        fix=_fix(outcome, before, after),
    )


def _fix(outcome: Outcome, before: Write, after: Write) -> Fix:
    """Take away what does nothing: the first of two that differ, the second of two that are equal."""
    text = "Take one of the two away."
    first, second = _places(before.value, after.value)
    same = not before.value.is_unknown and before.value.data == after.value.data
    if outcome is Outcome.IGNORED and first is not None:
        return Fix(text, wishes=(Wish("drop", first, after.key),), safe=True)
    if same and second is not None:
        return Fix(text, wishes=(Wish("drop", second, after.key),), safe=True)
    return Fix(text)


RULE = DuplicateKey
