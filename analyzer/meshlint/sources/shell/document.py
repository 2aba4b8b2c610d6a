"""Shell text with the place of every character, also where the text was put together from other texts.

A heredoc job, the string of `bash -c` and the argument of `eval` are texts of their own, made of literals and
expansions. Such a derived document keeps for every stretch the literal that it came from, so that a flag inside
it still has its line and column in the file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from meshlint.place import Span
from meshlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

    from meshlint.sources.shell.term import Atom, Lit

FIRST_PLACEHOLDER = 0xE000
"""Derived text holds what has no text (unknown, undecided) as one character of Unicode's private area each."""
MAX_PLACEHOLDERS = 0x1800
MAX_REPAIRS = 8


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that took part in a word: the expression as written, and what would override it.

    `span` is None for a value that was given from outside; `text` then names the giver.
    """

    span: Span | None
    text: str
    caveat: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A stretch of a document, in characters; `shown` replaces the text that is quoted for it."""

    document: Document
    start: int
    end: int
    caveat: str = ""
    shown: str = ""

    def spots(self) -> Iterator[Spot]:
        """Give the stretch's places in files, literal first, then the uses that brought it there."""
        yield from self.document.spots(self)


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A shell text. `segments` is empty for a file; for a derived text it gives (offset, literal), in order."""

    path: str
    text: str
    segments: tuple[tuple[int, Lit], ...] = ()
    holes: dict[str, Atom] = field(default_factory=dict)
    """What each placeholder stands for."""
    _lines: list[int] = field(default_factory=list)
    _spans: dict[tuple[int, int], Span] = field(default_factory=dict)

    def place(self, offset: int) -> tuple[int, int]:
        """Give line and column, from 1, of a character of a file's text."""
        if not self._lines:
            self._lines.append(0)
            self._lines.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        line = bisect_right(self._lines, offset) - 1
        return line + 1, offset - self._lines[line] + 1

    def span(self, start: int, end: int) -> Span:
        """Give the file's span of a stretch; of a derived text, that of the literal it begins in."""
        if self.segments or not self.path:
            spans = (s.span for s in self.spots(Mark(self, start, end)) if s.span is not None)
            return next(spans, Span(self.path or "?", 1))
        known = self._spans.get((start, end))
        if known is None:
            known = self._spans[start, end] = Span(self.path, *self.place(start), *self.place(max(end, start + 1)))
        return known

    def spots(self, mark: Mark) -> Iterator[Spot]:
        """Give the places of a stretch."""
        if not self.segments:
            if self.path:
                text = mark.shown or self.text[mark.start : mark.end]
                yield Spot(self.span(mark.start, mark.end), text, mark.caveat)
            elif mark.shown:
                yield Spot(None, mark.shown, mark.caveat)
            return
        for start, end, lit in self.pieces(mark.start, mark.end):
            if lit is not None:
                yield from lit.slice(start, end).spots()

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, Lit | None]]:
        """Cut a stretch of derived text where its literals meet; offsets count inside each literal."""
        if not self.segments:
            yield start, end, None
            return
        index = bisect_right(self.segments, start, key=lambda s: s[0]) - 1
        index = max(index, 0)
        while index < len(self.segments) and self.segments[index][0] < end:
            offset, lit = self.segments[index]
            low, high = max(start - offset, 0), min(end - offset, len(lit.text))
            if low < high:
                yield low, high, lit
            index += 1


def ascii_bytes(text: str) -> bytes:
    """Encode with one byte for each character, so that the parser's bytes are our characters."""
    return text.encode() if text.isascii() else text.translate(_Dotted()).encode()


class _Dotted(dict[int, str]):
    def __missing__(self, code: int) -> str:
        return chr(code) if code < 128 else "."


def parser() -> Parser:
    """Make a bash parser."""
    import tree_sitter

    return tree_sitter.Parser(tree_sitter.Language(_grammar()))


@cache
def _grammar() -> object:
    """Give the grammar of bash out of its compiled half; its Python half loads what opens archives, for its queries."""
    from importlib.machinery import PathFinder
    from importlib.util import find_spec, module_from_spec

    package = find_spec("tree_sitter_bash")
    found = PathFinder.find_spec("tree_sitter_bash._binding", package.submodule_search_locations) if package else None
    if found is None or found.loader is None:
        import tree_sitter_bash

        return tree_sitter_bash.language()
    binding = module_from_spec(found)
    found.loader.exec_module(binding)
    return binding.language()


def parse(document: Document, tool: Parser) -> Node:
    """Give the root node; blank lines are added so that a last line may end in a backslash.

    The grammar takes two assignments on a line for the front of a command on the next; such a line end is read as `;`.
    It knows no `$` at the front of a substring's bounds (`${x:$n+1}`), where bash asks for none, and no parentheses in
    arithmetic inside `${...}`; they are read as blanks.
    """
    return _repaired(document.text, bytearray(ascii_bytes(document.text) + b"\n\n"), tool)


def _repaired(text: str, data: bytearray, tool: Parser) -> Node:
    root = tool.parse(bytes(data)).root_node
    blanks = [*_dollars_of_bounds(text), *_inner_parentheses(text)] if root.has_error else []
    if blanks:
        for place in blanks:
            data[place] = ord(" ")
        root = tool.parse(bytes(data)).root_node
    for _ in range(MAX_REPAIRS if _has_row_of_assignments(text) else 0):
        ends = list(_swallowed_ends(root, data))
        if not ends:
            break
        for end in ends:
            data[end] = ord(";")
        root = tool.parse(bytes(data)).root_node
    return root


def parse_around_faults(document: Document, tool: Parser) -> tuple[Node, list[Mark]]:
    """Give the root node, and what was left out of it: the rest of a line where a fault begins.

    The grammar gives up a fault's whole neighbourhood; bash reads on behind it. A cut that does not help is not made.
    """
    root = parse(document, tool)
    if not root.has_error:
        return root, []
    data = bytearray(ascii_bytes(document.text) + b"\n\n")
    cuts: list[Mark] = []
    for _ in range(MAX_REPAIRS):
        fault = next((f for f in _faults(root) if b"\n" in data[f.start_byte : f.end_byte]), None)
        if fault is None:
            break
        end = data.index(b"\n", fault.start_byte)
        changed = data[: fault.start_byte] + b" " * (end - fault.start_byte) + data[end:]
        better = _repaired(document.text, bytearray(changed), tool)
        if _lost(better) >= _lost(root):
            break
        cuts.append(Mark(document, fault.start_byte, end))
        data, root = changed, better
    return root, cuts


def _faults(root: Node) -> Iterator[Node]:
    """Give the nodes that the grammar could not read, in the order of the text."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error:
            yield node
        elif node.has_error:
            stack.extend(reversed(node.children))


def _lost(root: Node) -> int:
    return sum(fault.end_byte - fault.start_byte for fault in _faults(root))


def _dollars_of_bounds(text: str) -> Iterator[int]:
    """Give the places of `$` in front of a name behind a colon inside `${name:...}`."""
    place = text.find(":")
    while place >= 0:
        dollar = place + 1
        while text[dollar : dollar + 1] == " ":
            dollar += 1
        name = text[dollar + 1 : dollar + 2]
        if text[dollar : dollar + 1] == "$" and (name.isalpha() or name == "_") and _inside_braces(text, place):
            yield dollar
        place = text.find(":", place + 1)


def _inner_parentheses(text: str) -> Iterator[int]:
    """Give the places of the parentheses inside `$((...))` that stands in braces."""
    start = text.find("$((")
    while start >= 0:
        end = _closing(text, start + 3)
        inner = text[start + 3 : end]
        if "(" in inner and "$(" not in inner and _inside_braces(text, start):
            yield from (start + 3 + i for i, c in enumerate(inner) if c in "()")
        start = text.find("$((", start + 3)


def _closing(text: str, start: int) -> int:
    """Give the place of the parenthesis that closes what is open at `start`, or `start` where none does."""
    depth = 1
    for place in range(start, min(len(text), start + MAX_ARITHMETIC)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    return start


MAX_ARITHMETIC = 1000
"""Characters of an arithmetic expression."""


def _inside_braces(text: str, place: int) -> bool:
    start = text.rfind("${", 0, place)
    return start >= 0 and not any(c in "}\n" for c in text[start:place])


def _has_row_of_assignments(text: str) -> bool:
    return any(row.count("=") > 1 and row.partition("=")[0].strip().isidentifier() for row in text.split("\n"))


def _swallowed_ends(root: Node, data: bytearray) -> Iterator[int]:
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.named_children)
        if node.type != "command" or node.child_count < 2 or node.children[0].type != "variable_assignment":
            continue
        for one, other in pairwise(node.children):
            end = data.find(b"\n", one.end_byte, other.start_byte)
            if one.type == "variable_assignment" and end >= 0 and data[end - 1] != ord("\\"):
                yield end
                break


def derived(path: str, atoms: Sequence[Atom], prefix: str = "") -> Document:
    """Put a text together from literals; whatever else stands in `atoms` becomes a placeholder."""
    from meshlint.sources.shell.term import Lit, literal

    parts: list[str] = [prefix]
    segments: list[tuple[int, Lit]] = []
    holes: dict[str, Atom] = {}
    offset = len(prefix)
    if prefix:
        segments.append((0, literal(prefix)))
    for atom in atoms:
        lit = atom if isinstance(atom, Lit) else None
        if lit is None:
            name = chr(FIRST_PLACEHOLDER + min(len(holes), MAX_PLACEHOLDERS))
            holes[name] = atom
            lit = literal(name)
        segments.append((offset, lit))
        parts.append(lit.text)
        offset += len(lit.text)
    return Document(path, "".join(parts), tuple(segments) or ((0, literal("")),), holes)
