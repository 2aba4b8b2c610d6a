"""What of a file is as it was but for where it stands: comments, empty lines and other bodies move lines and no more.

A definition that says what it said before, on lines in the same order and in the same columns, keeps the hash that it
had. For the lines of all such definitions it is known where they stand now; so what names one of them can be told
again without being worked out again. Whatever is not plainly the same counts as another thing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from meshlint.protocol.facts import ClassFacts, Definition, FileFacts, Node, Param
from meshlint.protocol.heads import Head
from meshlint.protocol.summary import short
from meshlint.records import dataclass

Segment = tuple[int, int, int]
"""The first and the last of some lines, as they were, and how far they moved."""

_BLOCKS = frozenset(("if", "for", "while", "try", "with", "match"))
"""Statements that end with their last line."""
_SIMPLE = ("expr", "assign", "aug", "return", "raise", "break", "continue", "assert", "import", "global", "del")
_STATEMENTS = _BLOCKS.union(_SIMPLE, ("def", "class"))
CALL, COMPREHENSION, HANDLER = 8, 5, 4
"""How long the nodes are that say where they stand."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Where the lines of a file are now."""

    segments: tuple[Segment, ...]

    def now(self, line: int) -> int | None:
        """Give the line as it is now; None where that is not certain."""
        place = bisect_right(self.segments, line, key=lambda segment: segment[0]) - 1
        if place < 0 or line > self.segments[place][1]:
            return None
        return line + self.segments[place][2]


def following(old: FileFacts, was: Head, digest: str, new: FileFacts, now: Head) -> Head:
    """Give the head of a file that had other facts and another head before; `digest` is the hash of the text then."""
    moved = _Comparison(old, was, new, now)
    pairs, alike = moved.compared()
    lines = _lines(pairs)
    if lines is None:
        return now
    kept = tuple(index for index in alike if was.bodies[index] != now.bodies[index] or index in was.moves[2])
    bodies = list(now.bodies)
    for index in kept:
        bodies[index] = was.bodies[index]
    return replace(now, bodies=tuple(bodies), moves=(digest, lines, kept))


@dataclass(slots=True)
class _Comparison:
    """Two readings of one file."""

    old: FileFacts
    was: Head
    new: FileFacts
    now: Head

    def compared(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Give the lines that are known then and now, and the definitions that say what they said."""
        old, new = self.old, self.new
        pairs: list[tuple[int, int]] = []
        _alike(old.assigns, new.assigns, pairs)
        classes = self._classes(pairs)
        inside = _inside(old.definitions), _inside(new.definitions)
        alike: set[int] = set()
        for index in reversed(range(min(len(old.definitions), len(new.definitions)))):
            below = inside[0].get(index, []), inside[1].get(index, [])
            same = self._own(index, pairs) and below[0] == below[1] and alike.issuperset(below[0])
            if same and _held(old.classes, index) == _held(new.classes, index) <= classes:
                alike.add(index)
        return pairs, sorted(alike)

    def _classes(self, pairs: list[tuple[int, int]]) -> set[int]:
        """Give the classes whose own statements say what they said."""
        found: set[int] = set()
        for one, other in zip(self.old.classes, self.new.classes, strict=False):
            told: list[tuple[int, int]] = [(one.line, other.line)]
            if self.was.classes[one.index] == self.now.classes[one.index] and _alike(_of(one), _of(other), told):
                found.add(one.index)
                pairs += told
        return found

    def _own(self, index: int, pairs: list[tuple[int, int]]) -> bool:
        """Say whether a definition, without those inside of it, says what it said; add the lines that it names."""
        one, other = self.old.definitions[index], self.new.definitions[index]
        told: list[tuple[int, int]] = []
        if self.was.bodies[index] == self.now.bodies[index] and index not in self.was.moves[2]:
            told += ((one.line + offset, other.line + offset) for offset in range(one.end_line - one.line + 1))
            same = _alike(one.decorators, other.decorators, told)
        else:
            if index:
                told += ((one.line, other.line), (one.end_line, other.end_line))
            same = (_said(one), short(one)) == (_said(other), short(other))
            same = same and _alike(_nodes(one), _nodes(other), told)
        if same:
            pairs += told
        return same


def _inside(definitions: Sequence[Definition]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for definition in definitions[1:]:
        found.setdefault(definition.parent, []).append(definition.index)
    return found


def _held(classes: Iterable[ClassFacts], index: int) -> set[int]:
    return {klass.index for klass in classes if klass.parent == index}


def _of(klass: ClassFacts) -> Node:
    return (klass.bases, klass.attributes, klass.annotations, klass.decorators)


def _said(definition: Definition) -> tuple[object, ...]:
    """Give what is known of a definition that says nothing of places."""
    d = definition
    names = (d.index, d.name, d.qualname, d.parent, d.owner)
    return (*names, d.callees, d.seeds, d.locals, d.globals, d.imports, tuple((p.name, p.kind) for p in d.params))


def _nodes(definition: Definition) -> Node:
    d = definition
    return (tuple(map(_given, d.params)), d.decorators, d.returns, d.body)


def _given(param: Param) -> Node:
    return (param.default, param.annotation)


def _alike(one: object, other: object, pairs: list[tuple[int, int]]) -> bool:
    """Say whether two nodes are the same but for their lines, which are added."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return one == other and repr(one) == repr(other)
    if len(one) != len(other):
        return False
    places = _places(one)
    if not places:
        return all(_alike(left, right, pairs) for left, right in zip(one, other, strict=True))
    for place, (left, right) in enumerate(zip(one, other, strict=True)):
        if place in places and type(left) is int and type(right) is int:
            pairs.append((left, right))
        elif not _alike(left, right, pairs):
            return False
    return True


def _places(node: Node) -> tuple[int, ...]:
    """Say which parts of a node are lines."""
    tag = node[0] if node else None
    if type(tag) is not str:  # the handler of a `try` begins with a node
        handler = len(node) == HANDLER and type(node[3]) is int and type(node[2]) is tuple and type(node[1]) is str
        return (3,) if handler else ()
    if tag == "K" and len(node) == CALL:
        return (4, 6)
    if tag == "G" and len(node) == COMPREHENSION:
        return (4,)
    if tag in _STATEMENTS and type(node[1]) is int:
        return (1, len(node) - 1) if tag in _BLOCKS else (1,)
    return ()


def _lines(pairs: list[tuple[int, int]]) -> tuple[Segment, ...] | None:
    """Give where lines are now; None where one would be two, or their order is another one."""
    found = list(_segments(sorted(set(pairs))))
    for before, after in pairwise(found):
        if before[1] >= after[0] or before[1] + before[2] >= after[0] + after[2]:
            return None
    return tuple(found)


def _segments(pairs: Sequence[tuple[int, int]]) -> Iterator[Segment]:
    begin = 0
    for place in range(1, len(pairs) + 1):
        moved = pairs[begin][1] - pairs[begin][0]
        if place == len(pairs) or pairs[place][1] - pairs[place][0] != moved:
            yield (pairs[begin][0], pairs[place - 1][0], moved)
            begin = place


__all__ = ["Lines", "Segment", "following"]
