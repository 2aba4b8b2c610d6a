"""YAML with the place of every key and value, by pyyaml's composer: no objects are built, nothing is resolved.

Anchors share nodes, so a bomb of aliases stays small; whoever walks the nodes bounds the walk (`MAX_WALK`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from meshlint.place import Span
from meshlint.sources.tree import Text, Unreadable

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_WALK = 200_000
"""Nodes visited in one walk over a document, aliases counted each time."""
MAX_DEPTH = 100


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
        """Give a mapping's (key, key node, value node), merge keys resolved, later duplicates after earlier ones."""
        for key, value in self.entries:
            if key.text == "<<" and not key.quoted:
                sources = value.items if value.kind == "sequence" else (value,)
                for source in reversed(sources):
                    yield from source.pairs()
        for key, value in self.entries:
            if key.kind == "scalar" and (key.text != "<<" or key.quoted):
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
    loader = Loader(source.text)
    memo: dict[int, Node] = {}
    documents = []
    try:
        while loader.check_node():
            root = loader.get_node()
            documents.append(_node(root, source.path, memo, loader, 0))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = error.problem or "it cannot be parsed"
        raise Unreadable(source.path, f"it is not YAML: {problem}", line, column) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Unreadable(source.path, f"it is not YAML: {str(error).splitlines()[0]}") from None
    finally:
        loader.dispose()
    return documents


def _node(node: Any, path: str, memo: dict[int, Node], loader: Any, depth: int) -> Node:
    known = memo.get(id(node))
    if known is not None:
        return known
    start, end = node.start_mark, node.end_mark
    span = Span(path, start.line + 1, start.column + 1, end.line + 1, end.column + 1)
    if depth > MAX_DEPTH:
        raise Unreadable(path, f"it is nested deeper than {MAX_DEPTH} levels", span.line, span.column)
    if isinstance(node, yaml.ScalarNode):
        built = Node(span, "scalar", _scalar(node, loader), node.value, node.style in ("'", '"'))
    elif isinstance(node, yaml.SequenceNode):
        memo[id(node)] = Node(span, "scalar", text="", quoted=True)  # a cycle of aliases ends here
        built = Node(span, "sequence", items=tuple(_node(n, path, memo, loader, depth + 1) for n in node.value))
    else:
        memo[id(node)] = Node(span, "scalar", text="", quoted=True)
        pairs = tuple(
            (_node(k, path, memo, loader, depth + 1), _node(v, path, memo, loader, depth + 1)) for k, v in node.value
        )
        built = Node(span, "mapping", entries=pairs)
    memo[id(node)] = built
    return built


def _scalar(node: Any, loader: Any) -> bool | int | float | str | None:
    if node.tag not in _PLAIN_TAGS:
        return str(node.value)
    if len(node.value) > 40 and node.tag != _STR:
        return str(node.value)
    try:
        built = loader.construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError):
        return str(node.value)
    return built if built is None or isinstance(built, bool | int | float | str) else str(node.value)


_STR = "tag:yaml.org,2002:str"
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))
