"""What is said of the others holds for the whole program: both ranks' events on one group, paired one by one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from programs import TP, Program

from meshlint.mesh.blame import Judge
from meshlint.mesh.dims import STANDARD
from meshlint.mesh.pairing import Instead, pairing
from meshlint.mesh.term import Node

KINDS = st.lists(st.sampled_from(("all_reduce", "broadcast", "barrier")), max_size=3)


def chain(p: Program, kinds: list[str], line: int, rest: Node) -> Node:
    """Make events in a row, one to a line."""
    for place in range(len(kinds) - 1, -1, -1):
        rest = p.op(line + place, "tp", rest, kind=kinds[place])
    return rest


def true_of(item: Instead, at: int, one: list[str], other: list[str]) -> bool:
    """Say whether it holds of a rank with the events `other`, while `one` is at its event number `at`."""
    if item.outcome == "waits":
        return len(other) <= at
    assert item.op is not None
    if len(other) <= at or item.op.kind != other[at]:
        return False
    if item.outcome == "hangs":
        return other[at] != one[at]
    return other[at] == one[at] and item.left is not None


@settings(max_examples=150, deadline=None)
@given(KINDS, KINDS, KINDS, KINDS)
def test_what_the_others_do_is_true_of_the_program(
    before: list[str], here: list[str], there: list[str], after: list[str]
) -> None:
    p = Program()
    end = chain(p, after, 60, p.end)
    sides = chain(p, here, 20, end), chain(p, there, 40, end)
    term = chain(p, before, 1, p.alt(10, p.values.first(TP), *sides, end=50))
    first, second = [*before, *here, *after], [*before, *there, *after]
    faults = Judge(p.terms, STANDARD).faults(term)
    assert bool(faults) is (first != second)
    for fault in faults:
        rank, op = fault.stuck.arrived[0]
        own, others = (first, second) if fault.run.mesh.index(rank, TP) == 0 else (second, first)
        line = op.site.span.line
        at = line - 1 if line < 10 else len(before) + (line - 20 if line < 40 else line - 40)
        if line < 60:
            assert all(true_of(item, at, own, others) for item in pairing(p.terms, fault))
