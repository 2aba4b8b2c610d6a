"""Kinds of rank values: a rank of the job, a place in a group, a rank inside of a node.

Two mistakes that no gate shows: the rank inside of a node given as the rank in the job, and a place in a group looked
for among the ranks of the job from which groups are made.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.mesh.dims import ALL
from meshlint.mesh.gate import Expr
from meshlint.place import Span
from meshlint.protocol.facts import Definition, Node, calls, dotted
from meshlint.protocol.roots import Root, function_of
from meshlint.protocol.summary import Engine, Exhausted
from meshlint.records import dataclass

RANK_OF_THE_JOB = (4, "rank")
"""The argument of init_process_group that is the rank in the job."""

NODE_RANK = "LOCAL_RANK"
"""The variable in which launchers keep the rank inside of a node (source: torchrun's page, torch 2.9)."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A rank of the wrong kind: where, and whether it is one inside of a node or a place in a group, of which dims.

    `made` is the line of the statement that gives it its value, 0 where that is the place itself or is not known.
    """

    span: Span
    node: bool
    text: str
    dims: int = 0
    made: int = 0


def makes_groups(definition: Definition) -> bool:
    """Say whether a function calls something that makes groups, by the texts of its calls."""
    names = {text.rpartition(".")[2] for text in definition.callees}
    return bool(names & {"new_group", "init_process_group", "init_distributed"})


def misfits(engine: Engine, path: str, definition: Definition) -> Iterator[Misfit]:
    """Give the ranks of a wrong kind in one function."""
    yield from _node_ranks(engine, path, definition)
    if definition.parent <= 0 and any(text.rpartition(".")[2] == "new_group" for text in definition.callees):
        yield from _places(engine, path, definition)


def _node_ranks(engine: Engine, path: str, definition: Definition) -> Iterator[Misfit]:
    for call in calls(definition.body):
        entry, _ = engine.callee(path, definition, dotted(call[1]))
        if entry is None or entry.op != "init_process_group":
            continue
        position, keyword = RANK_OF_THE_JOB
        given = next((value for name, value in call[3] if name == keyword), None)
        if given is None and position < len(call[2]):
            given = call[2][position]
        values = [] if given is None else _meanings(engine, definition, given)
        value = next((value for value in values if _holds(value, NODE_RANK)), None)
        if given is not None and value is not None:
            span = Span(path, call[4], call[5], call[6], call[7])
            made = _made(definition.body, dotted(given), value) if given[0] == "N" else 0
            yield Misfit(span, True, dotted(given) or NODE_RANK, made=made)


def _meanings(engine: Engine, definition: Definition, node: Node) -> list[Node]:
    return engine.assigned_in(definition, node[1]) if node[0] == "N" else [node]


def _made(body: object, name: str, value: Node | None = None) -> int:
    """Give the line of the first statement by which a name gets a value, or just that value; 0 for none."""
    if not isinstance(body, tuple):
        return 0
    if body[:1] == ("assign",):
        return int(body[1]) if ("N", name) in body[2] and value in (None, body[3]) else 0
    return next((line for part in body if (line := _made(part, name, value))), 0)


def _holds(node: object, text: str) -> bool:
    return isinstance(node, tuple) and (node == ("C", text) or any(_holds(part, text) for part in node))


def _places(engine: Engine, path: str, definition: Definition) -> Iterator[Misfit]:
    try:
        owner = (path, definition.owner) if definition.owner >= 0 else None
        frame = engine.walked(function_of(engine, Root(path, definition.index, owner)))
    except (Exhausted, RecursionError):
        return
    listed = set(frame.listed)
    told: set[int] = set()
    for value, ranks, line in frame.looked_for:
        if ranks in listed and line not in told and is_place(value.expr):
            told.add(line)
            dims = value.expr.args[0] if value.expr.op == "coord" else 0
            made = _made(definition.body, value.text)
            yield Misfit(Span(path, line, 1), False, value.text, dims, made if made < line else 0)


def is_place(expr: Expr) -> bool:
    """Say whether a value is a place in a group that is not the whole job."""
    if expr.weak:
        return False
    return expr.op == "grank" or (expr.op == "coord" and expr.args[0] != ALL)
