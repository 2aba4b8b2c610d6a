"""Patterns as in a `.gitignore`, matched in time that grows with the path, whatever the pattern.

pathspec makes one regular expression of each pattern, and Python's engine tries every way to share a name out between
the stars of one: a pattern with many would take for ever on a name made for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

STAR = "[^/]*"
"""What pathspec writes for `*`."""
ANY_FOLDERS = ".+"
"""What pathspec writes, among other things, for `**`."""
MAX_ANY_FOLDERS = 2
"""A path has few folders, so that two `**` cost little; more of them multiply."""


def spec_of(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile patterns; raises ValueError for one that is none, or that has too many `**`."""
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except re.error as error:
        raise ValueError(str(error)) from None
    for pattern in spec.patterns:
        regex = pattern.regex
        if regex is None:
            continue
        if regex.pattern.count(ANY_FOLDERS) > MAX_ANY_FOLDERS:
            raise ValueError(f"more than {MAX_ANY_FOLDERS} times `**`")
        if regex.pattern.count(STAR) > 1:
            pattern.regex = re.compile(_settled(regex.pattern))
    return spec


def usable(lines: Iterable[str]) -> tuple[GitIgnoreSpec, list[str]]:
    """Compile the patterns that can be compiled; give those too that cannot, as git leaves them out."""
    kept = list(lines)
    try:
        return spec_of(kept), []
    except ValueError:
        wrong = [line for line in kept if not _is_pattern(line)]
    left = set(wrong)
    return spec_of(line for line in kept if line not in left), wrong


def _is_pattern(line: str) -> bool:
    try:
        spec_of([line])
    except ValueError:
        return False
    return True


def _settled(regex: str) -> str:
    """Let what stands between two stars of a name match where it first can, once and for all.

    The star behind it takes what a later match would have skipped, so nothing is lost. A group that looks ahead and
    is then repeated does not give back what it took.
    """
    first, *between, last = regex.split(STAR)
    made = [first]
    for number, part in enumerate(between):
        if "/" in re.sub(r"\[[^\]]*\]", "", part):
            made.append(f"{STAR}{part}")
        else:
            made.append(f"(?=(?P<s{number}>{STAR}?{part}))(?P=s{number})")
    return "".join([*made, STAR, last])
