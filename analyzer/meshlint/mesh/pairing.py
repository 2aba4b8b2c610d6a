"""What the members do instead that never come to a stuck instance.

Each absent member's trace goes on as if nothing blocked, once more round the enclosing loop and into the caller's rest,
and its next event on the stuck communicator decides: an equal one pairs silently, one of another size clashes, another
operation hangs, none means that the others wait for ever. A member that is itself stuck elsewhere comes to none.
"""

from __future__ import annotations

from meshlint.mesh.blame import Fault
from meshlint.mesh.evaluate import Unresolvable
from meshlint.mesh.simulate import Options, Run, Stuck, channels, prepare, trace_alone
from meshlint.mesh.term import Node, Op, Terms
from meshlint.records import dataclass

OBJECT_STEPS: dict[str, tuple[str, ...]] = {
    "broadcast_object_list": ("broadcast", "broadcast"),
    "all_gather_object": ("all_gather", "all_gather"),
    "gather_object": ("all_gather", "gather"),
    "scatter_object_list": ("broadcast", "scatter"),
}
"""Object collectives are a size and then the bytes (source: torch/distributed/distributed_c10d.py, v2.8)."""

OBJECT_SIZE = ("int64", "1")
"""The signature of the size that goes first."""


@dataclass(frozen=True, slots=True)
class Instead:
    """What one rank does instead: `waits` (never comes), `pairs`, `clashes` or `hangs`, with the operation it comes to.

    `sure` is False where a size is not known on one side, so that pairing is possible and not certain.
    """

    rank: int
    outcome: str
    op: Op | None = None
    sure: bool = True


def pairing(terms: Terms, fault: Fault, after: Node | None = None) -> tuple[Instead, ...]:
    """Give what each absent (or differing) member of the stuck instance does; `after` is the caller's rest."""
    stuck = fault.stuck
    first = stuck.arrived[0][1]
    differing = tuple(
        Instead(rank, *_compared(first, op)) for rank, op in stuck.arrived[1:] if _compared(first, op)[0] != "pairs"
    )
    context = fault.context if after is None else terms.then(fault.context, after)
    return differing + tuple(_instead(context, fault.run, stuck, rank) for rank in stuck.missing)


def _instead(context: Node, run: Run, stuck: Stuck, rank: int) -> Instead:
    try:
        plan = prepare(context, run.mesh, Options())
        trace = trace_alone(plan, run, rank)
        table = channels((*context.groups, stuck.group))
        here = [op for op in trace if table[op.group] == table[stuck.group] and plan.layout.members(op.group, rank)]
    except Unresolvable:
        return Instead(rank, "waits", sure=False)
    if any(event.number < 0 and not event.op.handle and not _on(event.op, stuck) for event in run.events[rank]):
        return Instead(rank, "waits")
    done = sum(1 for event in run.events[rank] if event.members == stuck.members and _on(event.op, stuck))
    if done >= len(here):
        return Instead(rank, "waits")
    outcome, op, sure = _compared(stuck.arrived[0][1], here[done])
    return Instead(rank, outcome, op, sure)


def _on(op: Op, stuck: Stuck) -> bool:
    table = channels((op.group, stuck.group))
    return table[op.group] == table[stuck.group]


def _compared(waiting: Op, other: Op) -> tuple[str, Op, bool]:
    first, first_size = _step(waiting)
    second, second_size = _step(other)
    if first != second:
        return "hangs", other, True
    known = bool(first_size and second_size)
    return ("clashes" if known and first_size != second_size else "pairs"), other, known


def _step(op: Op) -> tuple[str, tuple[str, ...]]:
    steps = OBJECT_STEPS.get(op.kind)
    return (op.kind, op.signature) if steps is None else (steps[0], OBJECT_SIZE)
