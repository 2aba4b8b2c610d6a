"""What holds of an earlier run: who calls whom, and what names stand for, as long as names mean what they meant.

What a file's calls come to depends on its own text and on the names of other files, never on their bodies. A file that
changed is read again. If it has the names that it had, and every function it has besides bears a name that no other
file writes, then all other files call what they called. Anything else (a file more or less, a class that changed, an
import) has all of them worked out anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshlint.engine.program_facts import Facts
from meshlint.protocol.heads import Outline
from meshlint.protocol.summary import Edge
from meshlint.records import dataclass

Link = tuple[Outline, tuple[bytes, ...], tuple[Edge, ...]]
"""The names of a file, the hashes of its classes, and what its definitions may call."""

Place = tuple[str, int]

MAX_CHANGED = 32
"""Files that changed beyond which all is worked out anew."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What still holds: the files that changed, and the names of functions that they have besides."""

    changed: frozenset[str]
    names: frozenset[str]


def holding(links: Mapping[str, Link], digests: Mapping[str, str], facts: Facts) -> Holding | None:
    """Say which files changed if names mean what they meant; `digests` are the hashes of the texts before."""
    if links.keys() != facts.rows.keys() or digests.keys() != links.keys():
        return None
    changed = frozenset(path for path, row in facts.rows.items() if digests[path] != row[1])
    if len(changed) > MAX_CHANGED:
        return None
    names: set[str] = set()
    for path in sorted(changed):
        more = _more(links[path][0], facts.head(path).outline)
        if more is None:
            return None
        names |= more
    if names and _written(names, (row[2] for path, row in facts.rows.items() if path not in changed)):
        return None
    return Holding(changed, frozenset(names))


def _more(old: Outline, new: Outline) -> set[str] | None:
    """Give the names that a file has besides the old ones; None where old ones changed or moved."""
    if old[0] != new[0] or new[1][: len(old[1])] != old[1]:
        return None
    return {name for name, parent, *_ in new[1][len(old[1]) :] if parent == 0 and name != "<lambda>"}


def _written(names: set[str], blobs: Iterable[bytes | memoryview]) -> bool:
    """Say whether a name may be written in other files: those that are not plain count as written."""
    if not all(name.isascii() for name in names):
        return True
    words = [name.encode("ascii") for name in sorted(names)]
    return any(word in data for data in map(bytes, blobs) for word in words)


@dataclass(frozen=True, slots=True)
class Touched:
    """Definitions of which something may be answered otherwise because of what the files that changed call.

    `called`: their callers are others. `handed`: one of their callers stands in a file that changed. `calls`: whether
    any definition calls something else than before, so that other ones may reach an event.
    """

    called: frozenset[Place]
    handed: frozenset[Place]
    calls: bool


def touched(old: Mapping[str, tuple[Edge, ...]], new: Mapping[str, tuple[Edge, ...]]) -> Touched:
    """Compare what the definitions of some files call with what they called."""
    called: set[Place] = set()
    handed: set[Place] = set()
    calls = False
    for path, rows in new.items():
        before = old[path]
        for index, row in enumerate(rows):
            now, was = row[2], before[index][2] if index < len(before) else ()
            handed.update(now, was)
            if now != was:
                called.update(set(now) ^ set(was))
            calls = calls or (index < len(before) and row != before[index])
    return Touched(frozenset(called), frozenset(handed), calls)


__all__ = ["Holding", "Link", "Touched", "holding", "touched"]
