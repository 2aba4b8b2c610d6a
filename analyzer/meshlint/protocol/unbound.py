"""Names that are set only where some element is there: a rank that has none of them stops where they are read.

    for _, share in params:
        if share is not None:
            dtype = share.dtype
            break
    total = torch.zeros(1, dtype=dtype)
    all_reduce(total)

Which elements are None is each rank's own affair; where all are, the name has no value, and the others wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.protocol.facts import Definition, Node, dotted
from meshlint.records import dataclass

_PLAIN = ("assign", "aug", "expr", "return")
"""Statements that read their names whenever they are come to."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that may have no value: the line of the loop that sets it, the line that reads it, and the sequence."""

    name: str
    loop: int
    line: int
    sequence: str


def unbound(definition: Definition) -> Iterator[Unbound]:
    """Give the names that only a loop in the body of a function sets, under a test of its element for None."""
    for place, node in enumerate(definition.body):
        found = _set_where_there(node) if node[0] == "for" and not node[5] else None
        if found:  # few loops do: what is set before is gathered only for them
            known = {param.name for param in definition.params} | _names_set(definition.body[:place])
            for name in sorted(found - known):
                line = _read(name, definition.body[place + 1 :])
                if line:
                    yield Unbound(name, node[1], line, dotted(node[3]))


def _set_where_there(loop: Node) -> set[str]:
    """Give the names that a loop sets under tests of its element for None, and nowhere else."""
    elements = _names_in(loop[2])
    there: set[str] = set()
    others = [node for node in loop[4] if node[0] != "if" or not _is_there(node[2], elements)]
    for node in loop[4]:
        if node[0] == "if" and _is_there(node[2], elements):
            there |= {name for inner in node[3] if inner[0] == "assign" for name in _names_in(inner[2])}
            others += node[4]
    return there - _names_set(tuple(others)) - elements if there else there


def _is_there(test: Node, elements: set[str]) -> bool:
    return test[0] == "Q" and test[1] == ("is not",) and test[3] == (("C", None),) and dotted(test[2]) in elements


def _read(name: str, rest: tuple[Node, ...]) -> int:
    """Give the line that reads a name before anything else sets it; 0 if none does whenever it is come to."""
    for node in rest:
        if node[0] in _PLAIN and name in _names_in(node[3] if node[0] == "assign" else node[2:]):
            line: int = node[1]
            return line
        if name in _names_set(node):
            return 0
    return 0


def _names_in(node: object) -> set[str]:
    if not isinstance(node, tuple):
        return set()
    if len(node) == 2 and node[0] == "N":
        return {node[1]}
    return {name for part in node for name in _names_in(part)}


def _names_set(node: object) -> set[str]:
    """Give the names that lowered code may set, however deep; what a `with` reads counts too."""
    if not isinstance(node, tuple):
        return set()
    found = {name for part in node for name in _names_set(part)}
    if len(node) < 3 or not isinstance(node[0], str):
        return found
    if node[0] == "W":
        return found | {node[1]}
    if node[0] in ("assign", "for", "with") and isinstance(node[1], int):
        return found | _names_in(node[2])
    if node[0] in ("def", "class") and isinstance(node[2], str):
        return found | {node[2]}
    return found | {row[0] for row in node[2]} if node[0] == "import" and isinstance(node[1], int) else found
