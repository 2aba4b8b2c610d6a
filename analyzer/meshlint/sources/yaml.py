"""YAML with the place of every key and value, by pyyaml's composer: no objects are built, nothing is resolved.

Anchors share nodes, so a bomb of aliases stays small; whoever walks the nodes bounds the walk (`MAX_WALK`). libyaml
itself refuses nesting beyond 1,000 levels, and `MAX_DEPTH` refuses it well before Python's stack is at risk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from meshlint.place import Span
from meshlint.sources.tree import Text, Unreadable

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_CHARS = 500_000
"""Characters of one file; a larger one is data, not a config that a person wrote."""
MAX_WALK = 200_000
"""Nodes visited in one walk over a document, aliases counted each time."""
MAX_DEPTH = 100
MAX_PAIRS = 20_000
"""Pairs that the merge keys (`<<`) of one mapping may bring in."""


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

        Merged pairs come first and are those of YAML 1.1: an earlier source wins over a later one. At most `MAX_PAIRS`
        of them are given.
        """
        own = [(key, value) for key, value in self.entries if not _is_merge(key)]
        if len(own) < len(self.entries):
            taken: dict[str, tuple[Node, Node]] = {}
            _merged(self, taken, [MAX_PAIRS])
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
        memo: dict[int, Node] = {}
        while loader.check_node():
            root = loader.get_node()
            documents.append(_node(root, source.path, memo, loader, 0))
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


def _merged(node: Node, taken: dict[str, tuple[Node, Node]], left: list[int]) -> None:
    """Collect what the merge keys of a mapping bring in: the first source that has a key wins, deeper ones last."""
    for key, value in node.entries:
        if not _is_merge(key):
            continue
        for source in value.items if value.kind == "sequence" else (value,):
            left[0] -= 1 + len(source.entries)
            if left[0] < 0:
                return
            fresh = {k.text: (k, v) for k, v in source.entries if k.kind == "scalar" and not _is_merge(k)}
            for name, pair in fresh.items():
                taken.setdefault(name, pair)
            _merged(source, taken, left)


def _node(node: Any, path: str, memo: dict[int, Node], loader: Any, depth: int) -> Node:
    if isinstance(node, yaml.ScalarNode):
        quoted = node.style in ("'", '"')
        return Node(_span(node, path), "scalar", _scalar(node, loader), node.value, quoted)
    known = memo.get(id(node))
    if known is not None:
        return known
    span = _span(node, path)
    if depth > MAX_DEPTH:
        raise Unreadable(path, f"it is nested deeper than {MAX_DEPTH} levels", span.line, span.column)
    memo[id(node)] = Node(span, "scalar", text="", quoted=True)  # a cycle of aliases ends here
    depth += 1
    if isinstance(node, yaml.SequenceNode):
        built = Node(span, "sequence", items=tuple([_node(n, path, memo, loader, depth) for n in node.value]))
    else:
        pairs = [(_node(k, path, memo, loader, depth), _node(v, path, memo, loader, depth)) for k, v in node.value]
        built = Node(span, "mapping", entries=tuple(pairs))
    memo[id(node)] = built
    return built


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
