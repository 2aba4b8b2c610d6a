"""What holds behind a guard that raises: a rank that goes on has not met it, nor has any other of a run that goes on.

    if rank != 0 and last:
        raise ValueError
    if rank == 0 and last:      # where it is the last, ranks but 0 have raised: this asks for no more than `last`
        return

A condition that asks again for a part of it is left with what the guard leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence

from meshlint.mesh.gate import Expr
from meshlint.protocol.frame import Assumed, Frame
from meshlint.protocol.items import ExitItem, Item
from meshlint.protocol.values import Domain, facts_of, implied

MAX_ASSUMED = 16
"""Guards of one function that are remembered."""

MAX_CONJUNCTS = 6
"""Conditions that a guard asks for, those around it included."""


def only_raises(side: Sequence[Item]) -> bool:
    """Say whether a side of a branch does no more than raise."""
    return len(side) == 1 and isinstance(side[0], ExitItem) and side[0].kind == "raise"


def remember(frame: Frame, domain: Domain, condition: Expr) -> None:
    """Remember that what a guard raises under does not hold from here on."""
    parts = tuple(part for one in (*frame.conditions, condition) for part in _conjuncts(one))
    if len(parts) <= MAX_CONJUNCTS and len(frame.assumed) < MAX_ASSUMED:
        tests = frozenset[int]().union(*map(domain.tests, parts))
        frame.assumed.append(Assumed(parts, tests))


def left_open(frame: Frame, domain: Domain, condition: Expr) -> Expr:
    """Give what a condition still asks where what was assumed holds."""
    for one in frame.assumed:
        if condition.op != "lit" and not one.tests.isdisjoint(domain.tests(condition)):
            condition = _left_open(frame, domain, condition, one.parts)
    return condition


def _left_open(frame: Frame, domain: Domain, condition: Expr, parts: tuple[Expr, ...]) -> Expr:
    values = domain.values
    around: dict[int, bool] = {}
    for outer in frame.conditions:
        around |= facts_of(outer)
    if _all_hold(parts, around | facts_of(condition)):
        return values.lit(False)
    against = values.negate(condition)
    if _all_hold(parts, around | facts_of(against)):
        return values.lit(True)
    if condition.op == "and":
        return _fewer(domain, _conjuncts(condition), parts, around)
    if condition.op == "or":
        return values.negate(_fewer(domain, list(map(values.negate, condition.args)), parts, around))
    return condition


def _fewer(domain: Domain, held: list[Expr], parts: tuple[Expr, ...], around: dict[int, bool]) -> Expr:
    """Leave out those conjuncts that follow from the others: without them, what was assumed not to hold would."""
    values = domain.values
    for one in held:
        others = [other for other in held if other is not one]
        known = around | facts_of(values.negate(one))
        for other in others:
            known |= facts_of(other)
        if others and _all_hold(parts, known):
            held = others
    return values.both(*held)


def _conjuncts(condition: Expr) -> list[Expr]:
    return list(condition.args) if condition.op == "and" else [condition]


def _all_hold(parts: tuple[Expr, ...], known: dict[int, bool]) -> bool:
    return all(implied(part, known) for part in parts)
