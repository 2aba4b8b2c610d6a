"""Loops whose elements each rank goes through in an order of its own, as they are told."""

from __future__ import annotations

from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.mesh import arms
from meshlint.mesh.classify import call_in_gate_function
from meshlint.mesh.term import Loop, Op
from meshlint.place import Span
from meshlint.protocol import keeping
from meshlint.protocol.faults import CodeFault, Standing
from meshlint.protocol.link import Linker
from meshlint.protocol.roots import Root, definition_at
from meshlint.told import told_line

UNORDERED = ("unordered", "ordered by use", "perhaps unordered")
"""The forms of loops whose order each rank has for itself, has where it came to use other things first, or may have."""


def out_of_turn(linker: Linker, root: Root, node: Loop, op: Op, giver: Span | None) -> Standing:
    """Tell of an event in a loop; `giver` is the call that gives the root what it goes through, if no root gives it."""
    loop, site = node.gate.site, call_in_gate_function(node.gate, op.site)
    inner = definition_at(linker, loop.span) or linker.definition(root.path, root.index)
    callers = [frame.span for frame in loop.frames()[:-1]] or ([] if giver is None else [giver])
    chosen, sure = "turn of group" in op.flags, node.gate.form == UNORDERED[0]
    what = "the group is chosen by the element" if chosen else "what is sent is the element's"
    order = "an order that each rank has for itself" if sure else "an order that each rank may have for itself"
    message = (
        f"The loop on line {told_line(loop.span)} goes through its elements in {order}, and {what}: `{op.kind}` meets "
        f"that of another element on another rank."
    )
    related = [Related(loop.span, "the loop")]
    if callers:
        given = callers[-1]
        place = f"line {told_line(given)}" if given.path == loop.span.path else f"{given.path}:{told_line(given)}"
        message += f" What it goes through comes from the call on {place}."
        related.append(Related(given, "where it is given these elements"))
    shown = sure or (chosen and node.gate.form == UNORDERED[1])
    fault = CodeFault(
        "COL004",
        Severity.WARNING if shown else Severity.INFO,
        Confidence.MEDIUM,
        Outcome.HANG,
        site.span,
        message,
        tuple(related),
        f"{inner.qualname}|order|{op.kind}",
        inner.qualname,
        arms.out_of_turn(loop.span, arms.Step(op.kind, site.span), chosen),
        "Go through the elements in one order on all ranks: that of the parameters, or sorted by name.",
    )
    calls_above = len(callers) + (1 if sure else keeping.MAX_CALL_DEPTH)  # what is sure is told first
    return Standing((site.span, "COL004 order"), (calls_above, root.path, root.index), fault)
