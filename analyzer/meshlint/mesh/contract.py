"""When a failing run is a fault: for every config, some contract.

A contract is an outside fact that ranks read alike, perhaps under two names (the sender asks for a key of the batch,
the receiver for a flag), so that one choice of contracts which makes all ranks agree is enough. A contract that all
members of a stuck instance asked for is no way out: they knew it alike, so it counts as config. But which of several
stored values ranks meet is not known from that they meet one: a fault must be there with each.
"""

from __future__ import annotations

import re
from typing import Any

from meshlint.mesh.gate import RECEIVED, Expr, Origin, picks, shows_apart
from meshlint.mesh.run import Options, Run
from meshlint.records import dataclass

LONE_RUNS = 128
"""Runs among which lone facts are looked for."""

_Key = tuple[int, tuple[int, ...]]
_Valuation = dict[_Key, Any]


def quantifier(atom: Expr, options: Options) -> bool:
    """Say whether every choice of a fact must be safe (True) or some choice (False)."""
    if atom.local:
        return options.free_locals
    if atom.id in options.shared:
        return not picks(atom)
    if atom.var:
        return options.adversaries or shows_apart(atom)
    return atom.op == "atom" and atom.args[1] is Origin.CONFIG


@dataclass(frozen=True, slots=True)
class _Case:
    """One run as the game sees it: all its choices, and those that must be safe whatever they are."""

    run: Run
    chosen: _Valuation
    given: _Valuation

    def fits(self, fixed: _Valuation) -> bool:
        """Say whether no choice contradicts `fixed`."""
        few, many = (fixed, self.chosen) if len(fixed) < len(self.chosen) else (self.chosen, fixed)
        return all(key not in many or many[key] == value for key, value in few.items())


def _case(run: Run, options: Options) -> _Case:
    chosen = {choice.key: choice.value for choice in run.choices}
    given = {choice.key: choice.value for choice in run.choices if quantifier(choice.atom, options)}
    return _Case(run, chosen, given)


def refuting_run(runs: list[Run], options: Options) -> Run | None:
    """Give the first run that shows a fault: no choice of contracts makes its config valuation safe."""
    cases = [_case(run, options) for run in runs]
    escaped: set[frozenset[tuple[_Key, Any]]] = set()
    for case in cases:
        if not case.run.fails:
            continue
        fixed = _fixed(case)
        signature = frozenset(fixed.items())
        if signature in escaped:
            continue
        if not _escapes(fixed, cases):
            return case.run
        escaped.add(signature)
    return None


def _fixed(case: _Case) -> _Valuation:
    members = [set(item.members) for item in case.run.stuck]
    known = {
        choice.key: choice.value
        for choice in case.run.choices
        if any(ranks <= set(choice.asked) for ranks in members) and not picks(choice.atom)
    }
    return {**case.given, **known}


def _escapes(fixed: _Valuation, cases: list[_Case]) -> bool:
    """Say whether some choice of contracts is safe for what is fixed, however the config that is still open goes."""
    open_fact: _Key | None = None
    for case in cases:
        if not case.run.safe or not case.fits(fixed):
            continue
        free = [key for key in case.given if key not in fixed]
        if not free:
            return True
        open_fact = open_fact or free[0]
    near = [case for case in cases if case.fits(fixed)]
    if not any(case.run.fails for case in near):
        return True
    if open_fact is None:
        return False
    values = {case.chosen[open_fact] for case in near if open_fact in case.chosen}
    return all(_escapes({**fixed, open_fact: value}, near) for value in sorted(values, key=repr))


def doubtful(run: Run, runs: list[Run], options: Options) -> bool:
    """Say whether a refuting run rests on several contracts at once: no single one of them leaves no way out."""
    case = _case(run, options)
    known = {key: value for key, value in _fixed(case).items() if key not in case.given}
    if len(known) < 2:
        return False
    cases = [_case(other, options) for other in runs]
    return all(_escapes({**case.given, key: value}, cases) for key, value in known.items())


def alone(runs: list[Run]) -> Run | None:
    """Give a failing run that rests on one unknown fact which some ranks alone ask for: with it nothing is safe.

    The program asks, so the fact may hold. No more than doubt is left where it may say whether there are several
    ranks at all, where it picks one of several values, and where other facts might follow it.
    """
    if len(runs) > LONE_RUNS:
        return None
    cases = [_case(run, _NOTHING) for run in runs]
    for case in cases:
        if not case.run.fails:
            continue
        for choice in case.run.choices:
            if may_be_lone(choice.atom) and not any(set(item.members) <= set(choice.asked) for item in case.run.stuck):
                fixed = {choice.key: choice.value}
                if not any(other.run.safe and other.fits(fixed) for other in cases):
                    return case.run
    return None


def may_be_lone(atom: Expr) -> bool:
    """Say whether a fact is unknown, alike for all ranks, and tells nothing of how many there are.

    What ranks were sent is no fact of theirs: whoever sent it knows it as well, by another name.
    """
    if atom.op != "atom" or atom.var or atom.args[1] is not Origin.UNKNOWN or picks(atom):
        return False
    text = str(atom.args[0])
    return not text.startswith(RECEIVED) and not _SINGLE.search(text)


_SINGLE = re.compile("dist|parallel|ddp|init|world|single|local|alone|multi|size|num|rank|proc|debug|test", re.I)
"""Words of facts that may tell whether a program runs on one rank."""

_NOTHING = Options()


def decisive(run: Run, options: Options) -> bool:
    """Say whether a failing run counts by itself: nothing in it is chosen freely, but one contract at most."""
    case = _case(run, options)
    return len(_fixed(case)) == len(case.chosen) and len(case.chosen) - len(case.given) < 2
