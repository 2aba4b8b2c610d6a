"""What the members do instead that never come to a stuck instance.

Each absent member's trace goes on as if nothing blocked, once more round the enclosing loop and into the caller's rest,
and its next event on the stuck communicator decides: an equal one pairs silently, one of another size clashes, another
operation hangs, none means that the others wait for ever. A member that is itself stuck elsewhere comes to none.
Where one pairs silently, both go on, each to its own next event: outside of a loop they may come to one that nobody
meets any more.
"""

from __future__ import annotations

from meshlint.mesh.blame import Fault
from meshlint.mesh.evaluate import Unresolvable
from meshlint.mesh.simulate import Plan, Stuck, channels, gate_key, prepare, trace_alone
from meshlint.mesh.term import Alt, Loop, Node, Op, Terms, walk
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

    `sure` is False where a size is not known on one side, so that pairing is possible and not certain. `again` says
    that the operation stands before the gate: the rank comes to it in the next round of a loop. `left` is who waits at
    what in the end, after some events paired silently: None where none is left over.
    """

    rank: int
    outcome: str
    op: Op | None = None
    sure: bool = True
    again: bool = False
    left: tuple[int, Op] | None = None


def pairing(terms: Terms, fault: Fault, after: Node | None = None) -> tuple[Instead, ...]:
    """Give what each absent (or differing) member of the stuck instance does; `after` is the caller's rest."""
    stuck = fault.stuck
    first = stuck.arrived[0][1]
    differing = tuple(
        Instead(rank, *_compared(first, op)) for rank, op in stuck.arrived[1:] if _compared(first, op)[0] != "pairs"
    )
    context = fault.context if after is None else terms.then(fault.context, after)
    return differing + tuple(_instead(context, fault, rank) for rank in stuck.missing)


def _instead(context: Node, fault: Fault, rank: int) -> Instead:
    run, stuck = fault.run, fault.stuck
    waiting, first = stuck.arrived[0]
    try:
        plan = prepare(context, run.mesh, fault.options)
        here, there = (_trace(plan, fault, one) for one in (rank, waiting))
    except Unresolvable:
        return Instead(rank, "waits", sure=False)
    if any(event.number < 0 and not event.op.handle and not _on(event.op, stuck) for event in run.events[rank]):
        return Instead(rank, "waits")
    done = sum(1 for event in run.events[rank] if event.members == stuck.members and _on(event.op, stuck))
    if done >= len(here):
        return Instead(rank, "waits")
    outcome, op, sure = _compared(first, here[done])
    again = fault.node is not None and op.site.key < fault.node.gate.site.key
    left = None
    if outcome == "pairs" and not _in_a_loop(context, fault):
        left = _left_over((rank, here[done + 1 :]), (waiting, there[done + 1 :]))
    return Instead(rank, outcome, op, sure, again, left)


def _trace(plan: Plan, fault: Fault, rank: int) -> list[Op]:
    """Give what a rank comes to on the stuck communicator if nothing blocks."""
    stuck = fault.stuck
    table = channels((*plan.term.groups, stuck.group))
    trace = trace_alone(plan, fault.run, rank)
    return [op for op in trace if table[op.group] == table[stuck.group] and plan.layout.members(op.group, rank)]


def _left_over(one: tuple[int, list[Op]], other: tuple[int, list[Op]]) -> tuple[int, Op] | None:
    """Give the first event that does not meet an equal one, as both go on."""
    for first, second in zip(one[1], other[1], strict=False):
        if _compared(first, second)[0] != "pairs":
            return one[0], first
    longer, shorter = (one, other) if len(one[1]) > len(other[1]) else (other, one)
    return (longer[0], longer[1][len(shorter[1])]) if len(longer[1]) > len(shorter[1]) else None


def _in_a_loop(context: Node, fault: Fault) -> bool:
    """Say whether the blamed gate, or else the stuck event, stands in a loop: the next round goes on with the rest."""
    op = fault.stuck.arrived[0][1]
    for loop in walk(context):
        if isinstance(loop, Loop):
            for node in walk(loop.body):
                if fault.node is None:
                    if isinstance(node, Op) and node.site == op.site:
                        return True
                elif isinstance(node, Alt | Loop) and gate_key(node) == gate_key(fault.node):
                    return True
    return False


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
