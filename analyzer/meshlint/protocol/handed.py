"""Objects that are given away: whose methods other code may call, out of sight.

    if rank == 0:
        server = Server(engine)
        server.run()
    else:
        engine.follow()

Ranks that follow wait for what the server makes the engine do, in threads and callbacks of its own. Where an object
was handed to one that keeps it, nothing can be said of the calls that its methods make on the other side of a gate.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.place import Span
from meshlint.protocol.facts import Definition, Node, calls, dotted
from meshlint.protocol.link import Linker


def given_away(linker: Linker, path: str, definition: Definition, gate: int, call: Span) -> bool:
    """Say whether the object whose method a call runs is given away on the other side of the branch at line `gate`."""
    branch = _branch(definition.body, gate)
    if branch is None:
        return False
    for side, other in ((branch[3], branch[4]), (branch[4], branch[3])):
        made = next((node for node in calls(side) if (node[4], node[5]) == (call.line, call.column)), None)
        if made is not None:
            return made[1][0] == "A" and any(_keeps(linker, path, node, made[1][1]) for node in calls(other))
    return False


def _branch(body: tuple[Node, ...], line: int) -> Node | None:
    return next((node for node in _branches(body) if node[1] == line), None)


def _branches(node: object) -> Iterator[Node]:
    if not isinstance(node, tuple):
        return
    if len(node) == 6 and node[0] == "if":
        yield node
    for part in node:
        if isinstance(part, tuple):
            yield from _branches(part)


def _keeps(linker: Linker, path: str, call: Node, given: Node) -> bool:
    """Say whether a call makes an object and gives it `given`."""
    if given not in call[2] and all(value != given for _, value in call[3]):
        return False
    target = linker.chain(path, call[1])
    if target is not None and target.kind in ("class", "def"):
        return target.kind == "class"
    return dotted(call[1]).rpartition(".")[2][:1].isupper()
