"""Parameters that must be members: what a function passes as the source of an event on a group is a rank of that group.

A helper that gets `src` and `group` and asks `rank == src` divides the group, whichever group that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.mesh.simulate import RECEIVES, SENDS
from meshlint.protocol.facts import Definition, Node, calls, dotted
from meshlint.protocol.syntax import argument_node

if TYPE_CHECKING:
    from meshlint.protocol.summary import Engine

Source = tuple[str, Node | None]
"""A parameter, and the node of the group whose rank it is; None for the world."""


def sources_of(engine: Engine, path: str, definition: Definition) -> tuple[Source, ...]:
    """Give the parameter that a function compares, and passes as the source of events; none where there are several."""
    if not (definition.mentions("==") or definition.mentions("!=")):
        return ()
    params = {param.name for param in definition.params}
    asked = _compared(definition.body) & params
    if not asked:
        return ()
    found: dict[str, Node | None] = {}
    for call in calls(definition.body):
        entry, _ = engine.callee(path, definition, dotted(call[1]))
        if entry is None or entry.kind != "op" or entry.root == (-1, "") or entry.op in SENDS | RECEIVES:
            continue
        root, group = argument_node(entry.root, call), argument_node(entry.group, call)
        if root is None or root[0] != "N" or root[1] not in asked or root[1] in found:
            continue
        if group is None or group[0] == "A" or (group[0] == "N" and group[1] in params):
            found[root[1]] = group
    return tuple(found.items()) if len(found) == 1 else ()


def _compared(body: Node) -> set[str]:
    """Gather the names that are compared for equality."""
    found: set[str] = set()
    stack: list[Node] = [body]
    while stack:
        node = stack.pop()
        if len(node) == 4 and node[0] == "Q" and node[1] in (("==",), ("!=",)):
            found.update(side[1] for side in (node[2], *node[3]) if side[0] == "N")
        stack += [part for part in node if isinstance(part, tuple)]
    return found
