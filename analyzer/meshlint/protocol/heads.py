"""What is known of a file without its bodies: enough to tell whether a change of it can matter to others.

A head is a pure function of the file's text, worked out where the file is read and kept beside its facts. Its hashes do
not hang on where in the file something stands: a line more in one function leaves those of all others as they are.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from meshlint.protocol.facts import COLLECTIVE, ClassFacts, Definition, FileFacts, Node
from meshlint.protocol.forwarding import optional_groups
from meshlint.protocol.packing import building_keys
from meshlint.protocol.pytests import is_test, names_tests
from meshlint.protocol.stages import without_pipeline
from meshlint.protocol.summary import asks_for_stages
from meshlint.protocol.unplaced import unplaced
from meshlint.records import dataclass

Outline = tuple[bytes, tuple[tuple[str, int, int, "Node | None"], ...]]
"""A hash of imports, assignments and classes; and of each definition the name, the parent, the class and what it says
that it returns."""

Moves = tuple[str, tuple[tuple[int, int, int], ...], tuple[int, ...]]
"""The hash of an earlier text, where its lines are now, and the definitions that keep the hash of another text.

See `lineage`.
"""


@dataclass(frozen=True, slots=True)
class Head:
    """One file; all fields are plain enough for `marshal`.

    `near`: its definitions show by themselves that it may hold something to judge. `switches`: one of them takes a
    group that may be left out. `building` and `refused` are its part of what is gathered from all files. `classes` and
    `bodies` are hashes of its classes and of its definitions, in their order. `tests` are the modules that it imports
    and that may hold tests, as they are written, with a point for each level of a relative import. `moves` says where
    lines of the text before are now; it alone, and what `bodies` takes over by it, hang on more than the text.
    """

    note: str
    near: bool
    switches: bool
    building: tuple[str, ...]
    refused: tuple[str, ...]
    outline: Outline
    classes: tuple[bytes, ...]
    bodies: tuple[bytes, ...]
    tests: tuple[str, ...] = ()
    moves: Moves = ("", (), ())


PLAIN = 0
"""The form of `marshal` that hangs on values alone, and not on which of them are one object."""

Row = tuple[Any, ...]
"""The fields of a head."""

_LINE = re.compile(r"\r\n|\r|\n")
"""What ends a line for Python's parser."""


def row_of(head: Head) -> Row:
    """Give a head as plain data."""
    return (
        head.note, head.near, head.switches, head.building, head.refused, head.outline, head.classes, head.bodies,
        head.tests, head.moves,
    )  # fmt: skip


def head_of(facts: FileFacts, text: str) -> Head:
    """Give the head of a file that was just read, of which this is the text."""
    lines = _LINE.split(text) if "\r" in text else text.split("\n")
    bodies = tuple(_body(definition, lines) for definition in facts.definitions)
    return Head(
        facts.note,
        any(d.seeds & COLLECTIVE or asks_for_stages(d) for d in facts.definitions),
        any(optional_groups(d) for d in facts.definitions[1:]),
        tuple(sorted(building_keys((facts,)))),
        tuple(sorted(without_pipeline((facts,)))),
        _outline(facts),
        tuple(_class(klass) for klass in facts.classes),
        bodies,
        tuple(sorted(set(_tests(facts)))),
    )


def without_facts() -> Head:
    """Give the head of a file of which nothing is known."""
    return Head("", False, False, (), (), (b"", ()), (), ())


def _tests(facts: FileFacts) -> Iterator[str]:
    """Give what may be modules of tests among what a file imports; a test may import its neighbours by any name."""
    inside = is_test(facts.path)
    for row in (*facts.imports, *(row for d in facts.definitions for row in d.imports)):
        _, module, attribute, level = row
        for name in dict.fromkeys((module, f"{module}.{attribute}".strip("."))):
            if inside or names_tests(name):
                yield "." * level + name


def _body(definition: Definition, lines: list[str]) -> bytes:
    """Give the hash of what a definition comes to: its lines, its decorators, and what it is numbered by.

    What is lowered from its lines hangs on nothing else: definitions inside of it are numbered from its own number on.
    """
    d = definition
    text = "\n".join(lines[d.line - 1 : d.end_line]).rstrip()
    return _hash((d.index, d.qualname, d.parent, d.owner, unplaced(d.decorators), text))


def _class(klass: ClassFacts) -> bytes:
    c = klass
    told = (c.bases, c.methods, c.attributes, c.annotations, c.stores, c.decorators)
    return _hash((c.index, c.name, c.qualname, c.parent, unplaced(told)))


def _outline(facts: FileFacts) -> Outline:
    """Give what other files can know of a file by names."""
    classes = tuple((c.name, c.qualname, c.parent, c.bases, c.methods) for c in facts.classes)
    named = tuple((d.name, d.parent, d.owner, d.returns and unplaced(d.returns)) for d in facts.definitions)
    return _hash((facts.imports, unplaced((facts.assigns, classes))), 16), named


def _hash(value: Any, size: int = 8) -> bytes:
    return blake2b(marshal.dumps(value, PLAIN), digest_size=size).digest()
