"""What lowered code says by its shape alone."""

from __future__ import annotations

from typing import Any

from meshlint.models.wrappers import SHARDERS
from meshlint.protocol.facts import Definition, Node, dotted

SAME = frozenset(
    """item tolist cpu cuda to view reshape detach clone contiguous float int long bool half double flatten squeeze
    unsqueeze numpy npu requires_grad_ view_as expand type astype copy data narrow ravel bfloat16 xpu pin_memory
    """.split()  # noqa: SIM905
)
"""Methods that give the same value again, or a view of it."""


def argument_node(where: tuple[int, str], call: Node) -> Node | None:
    """Give the node of an argument by its position or keyword."""
    position, keyword = where
    for name, value in call[3]:
        if keyword and name == keyword:
            found: Node = value
            return found
    return call[2][position] if 0 <= position < len(call[2]) else None


def inner_place(node: Node) -> Node:
    """Strip views and wrappers off the place that a payload lies in."""
    while True:
        if node[0] == "K" and node[1][0] == "A" and node[1][2] in SAME:
            node = node[1][1]
        elif node[0] in ("L", "T") and len(node[1]) == 1:
            node = node[1][0]
        elif node[0] == "A" and node[2] == "data":
            node = node[1]
        else:
            return node


def rounds_up(node: Any) -> bool:
    """Say whether lowered code divides or takes a rest: shares of a sequence may be made equal by it."""
    if not isinstance(node, tuple):
        return False
    if node[:1] in (("M",), ("aug",)) and ("%" in node or "//" in node):
        return True
    return any(rounds_up(part) for part in node)


def stepped(body: tuple[Node, ...], name: Node, op: str) -> int | None:
    """Give the constant by which a loop body changes a name, if it does so once in every round and not otherwise."""
    found: int | None = None
    for node in body:
        if node[0] == "aug" and node[2] == name:
            if found is not None or node[3] != op or node[4][0] != "C" or type(node[4][1]) is not int or node[4][1] < 1:
                return None
            found = node[4][1]
        elif changes(node, name) or node[0] == "continue" or jumps((node,)):
            return None
    return found


def taken(body: tuple[Node, ...], name: Node) -> int:
    """Count the statements of a loop body that take one element off a list; many where they do more than that to it."""
    found = 0
    for node in body:
        times = _named(node, name)
        if (
            node[0] == "continue"
            or times > 1
            or (times and (node[0] not in ("assign", "expr") or not _takes(node, name)))
        ):
            return 1 << 20
        found += times
    return found


def _named(node: Any, name: Node) -> int:
    if not isinstance(node, tuple):
        return 0
    return 1 if node == name else sum(_named(part, name) for part in node)


def _takes(node: Any, name: Node) -> bool:
    if not isinstance(node, tuple) or node[:1] in (("I",), ("B",), ("G",), ("F",)):  # which may do it not at all
        return False
    if len(node) == 8 and node[0] == "K" and node[1][0] == "A" and node[1][1] == name:
        return node[1][2] in ("pop", "popleft") and len(node[2]) <= 1
    return any(_takes(part, name) for part in node)


def changes(node: Any, name: Node) -> bool:
    """Say whether lowered code binds a name."""
    if not isinstance(node, tuple) or not node:
        return False
    targets = {"assign": 2, "aug": 2, "for": 2, "with": 2, "W": 1}.get(node[0] if isinstance(node[0], str) else "")
    if targets is not None and len(node) > targets and mentions(node[targets], name):
        return True
    return any(changes(part, name) for part in node)


def mentions(node: Any, name: Node) -> bool:
    """Say whether a target names a name."""
    if not isinstance(node, tuple):
        return bool(node == name[1])
    return node == name or any(mentions(part, name) for part in node)


def root_of(path: str) -> str:
    """Give the name that a path begins with."""
    return path.partition(".")[0].partition("[")[0]


def wrapped_after(node: Any, model: Node, line: int) -> bool:
    """Say whether lowered code below a line wraps what an expression names."""
    if not isinstance(node, tuple):
        return False
    if len(node) == 8 and node[0] == "K" and node[4] > line and model in node[2]:
        return dotted(node[1]).endswith(SHARDERS)
    return any(wrapped_after(part, model, line) for part in node)


def line_of(node: Any) -> int:
    """Give the line of the first call in an expression; 0 where there is none."""
    if isinstance(node, tuple):
        if node and node[0] == "K" and len(node) == 8:
            return int(node[4])
        for part in node:
            found = line_of(part)
            if found:
                return found
    return 0


def jumps(body: tuple[Node, ...]) -> bool:
    """Say whether a loop body breaks or continues."""
    for node in body:
        if node[0] in ("break", "continue"):
            return True
        if node[0] == "if" and (jumps(node[3]) or jumps(node[4])):
            return True
        if node[0] in ("with",) and jumps(node[3]):
            return True
        if node[0] == "try" and (jumps(node[2]) or any(jumps(h[2]) for h in node[3])):
            return True
    return False


def has_decorator(definition: Definition, name: str) -> bool:
    """Say whether a definition has a decorator of a name."""
    held = definition.decorators
    return bool(held) and any(dotted(d[1] if d[0] == "K" else d).rpartition(".")[2] == name for d in held)


def is_property(definition: Definition) -> bool:
    """Say whether a definition is a property."""
    return has_decorator(definition, "property") or has_decorator(definition, "cached_property")


def is_manager(definition: Definition) -> bool:
    """Say whether a definition is a context manager written as a generator."""
    return has_decorator(definition, "contextmanager")
