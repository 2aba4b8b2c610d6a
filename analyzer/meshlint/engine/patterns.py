"""Patterns of files, as in a `.gitignore`: those that can match nothing are refused."""

from __future__ import annotations

import warnings

from meshlint.engine.options import UsageError


def check_pattern(pattern: str, source: str, alone: bool = False) -> None:
    """Refuse a pattern that can match no file; raises UsageError.

    `source` is where it stands. `alone` says that it is no line of a list, where `!` and `#` would mean something.
    """
    wrong = _wrong(pattern, alone)
    if wrong:
        raise UsageError(f"{source}: the pattern `{pattern}` {wrong}")


def _wrong(pattern: str, alone: bool) -> str:
    """Say what is wrong with a pattern; empty where it can match."""
    from meshlint.sources.patterns import spec_of

    if "[" in pattern and "]" not in pattern[pattern.index("[") + 2 :]:
        return "opens a `[` that nothing closes"
    if not alone and (not pattern.strip() or pattern.startswith("#")):
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = spec_of([pattern])
    except ValueError:
        return "is none of a .gitignore, or has too many `**`"
    included = [one.include for one in spec.patterns if one.include is not None]
    if not included or (alone and not any(included)):
        return "matches no file"
    if {".", ".."} & set(pattern.removeprefix("!").split("/")):
        return "matches no file: `.` and `..` are no folders of a pattern, which counts from the settings file"
    return ""
