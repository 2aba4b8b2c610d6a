"""YAML with the place of every key and value, by pyyaml's composer: no objects are built, nothing is resolved.

Anchors share nodes, so a bomb of aliases stays small; whoever walks the nodes bounds the walk (`MAX_WALK`). libyaml
itself refuses nesting beyond 1,000 levels, and `MAX_DEPTH` refuses it well before Python's stack is at risk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

import yaml

from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Text, Unreadable

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_CHARS = 500_000
"""Characters of one file; a larger one is data, not a config that a person wrote."""
MAX_WALK = 200_000
"""Nodes visited in one walk over a document, aliases counted each time."""
MAX_DEPTH = 100
MAX_PAIRS = 20_000
"""Pairs that the merge keys (`<<`) of one file may bring in, counted for every mapping that they come to."""
MAX_MERGES = 30
"""Mappings that merge one another in a chain."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A YAML node. `data` holds a scalar's Python value; `entries` a mapping's pairs, duplicates and merges kept."""

    span: Span
    kind: str
    """`scalar`, `sequence` or `mapping`."""
    data: bool | int | float | str | None = None
    text: str = ""
    """A scalar as written, quotes off."""
    quoted: bool = False
    items: tuple[Node, ...] = ()
    entries: tuple[tuple[Node, Node], ...] = ()

    def pairs(self) -> Iterator[tuple[str, Node, Node]]:
        """Give a mapping's (key, key node, value node), merge keys resolved, later duplicates after earlier ones.

        Merged pairs come first and are those of YAML 1.1: an earlier source wins over a later one.
        """
        own = [(key, value) for key, value in self.entries if not _is_merge(key)]
        if len(own) < len(self.entries):
            taken: dict[str, tuple[Node, Node]] = {}
            _merged(self, taken)
            yield from ((name, key, value) for name, (key, value) in taken.items())
        for key, value in own:
            if key.kind == "scalar":
                yield key.text, key, value

    def get(self, key: str) -> Node | None:
        """Give the value of a mapping's key, the last one where it stands twice; None where it is not there."""
        found = None
        for name, _, value in self.pairs():
            if name == key:
                found = value
        return found


def parse(source: Text) -> list[Node]:
    """Give the documents of a YAML file; raises Unreadable with line and column where it is not YAML."""
    if len(source.text) > MAX_CHARS:
        size = len(source.text)
        raise Unreadable(source.path, f"it has {size:,} characters; as YAML, meshlint reads at most {MAX_CHARS:,}")
    documents = []
    loader = None
    try:
        loader = Loader(source.text)
        builder = _Builder(source.path, loader)
        while loader.check_node():
            documents.append(builder.node(loader.get_node(), 0))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = error.problem or "it cannot be parsed"
        raise Unreadable(source.path, f"it is not YAML: {problem}", line, column) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Unreadable(source.path, f"it is not YAML: {_first_line(error)}") from None
    finally:
        if loader is not None:
            loader.dispose()
    return documents


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "it cannot be parsed")


def _is_merge(key: Node) -> bool:
    return key.text == "<<" and not key.quoted


def _sources(entries: Iterable[tuple[Node, Node]]) -> Iterator[Node]:
    """Give what the merge keys among a mapping's pairs name, in their order."""
    for key, value in entries:
        if _is_merge(key):
            yield from value.items if value.kind == "sequence" else (value,)


def _merged(node: Node, taken: dict[str, tuple[Node, Node]]) -> None:
    """Collect what the merge keys of a mapping bring in: the first source that has a key wins, deeper ones last."""
    for source in _sources(node.entries):
        fresh = {k.text: (k, v) for k, v in source.entries if k.kind == "scalar" and not _is_merge(k)}
        for name, pair in fresh.items():
            taken.setdefault(name, pair)
        _merged(source, taken)


@dataclass(slots=True)
class _Builder:
    """Makes our nodes of pyyaml's; nodes that aliases share are made once."""

    path: str
    loader: Any
    memo: dict[int, Node] = field(default_factory=dict)
    merges: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of each mapping that merges: the pairs that come to it, and the length of the chain; by the node's identity."""
    merged: int = 0

    def node(self, node: Any, depth: int) -> Node:
        """Make a node; raises Unreadable past a bound."""
        if isinstance(node, yaml.ScalarNode):
            quoted = node.style in ("'", '"')
            return Node(_span(node, self.path), "scalar", _scalar(node, self.loader), node.value, quoted)
        known = self.memo.get(id(node))
        if known is not None:
            return known
        span = _span(node, self.path)
        if depth > MAX_DEPTH:
            raise Unreadable(self.path, f"it is nested deeper than {MAX_DEPTH} levels", span.line, span.column)
        self.memo[id(node)] = Node(span, "scalar", text="", quoted=True)  # a cycle of aliases ends here
        if isinstance(node, yaml.SequenceNode):
            built = Node(span, "sequence", items=tuple([self.node(n, depth + 1) for n in node.value]))
        else:
            pairs = [(self.node(k, depth + 1), self.node(v, depth + 1)) for k, v in node.value]
            built = Node(span, "mapping", entries=tuple(pairs))
            self._count(built)
        self.memo[id(node)] = built
        return built

    def _count(self, mapping: Node) -> None:
        """Count what is merged into a mapping; raises Unreadable where it is too much."""
        sources = list(_sources(mapping.entries))
        if not sources:
            return
        below = [self.merges.get(id(source), (0, 0)) for source in sources]
        pairs = sum(len(source.entries) for source in sources) + sum(count for count, _ in below)
        chain = 1 + max(length for _, length in below)
        self.merged += pairs
        if self.merged > MAX_PAIRS or chain > MAX_MERGES:
            bound = f"{MAX_PAIRS:,} pairs" if chain <= MAX_MERGES else f"{MAX_MERGES} mappings in a chain"
            span = mapping.span
            raise Unreadable(self.path, f"its merge keys bring in more than {bound}", span.line, span.column)
        self.merges[id(mapping)] = (pairs, chain)


def _span(node: Any, path: str) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(path, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _scalar(node: Any, loader: Any) -> bool | int | float | str | None:
    text = str(node.value)
    if node.tag == _STR or node.tag not in _PLAIN_TAGS or len(text) > _LONGEST_NUMBER:
        return text
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return int(text)
    try:
        built = loader.construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError, KeyError):
        return text
    return built if built is None or isinstance(built, bool | int | float | str) else text


_LONGEST_NUMBER = 40
_STR = "tag:yaml.org,2002:str"
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))
