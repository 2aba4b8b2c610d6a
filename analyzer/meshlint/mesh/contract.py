"""When a failing run is a fault: for every config, some contract.

A contract is an outside fact that ranks read alike, perhaps under two names (the sender asks for a key of the batch,
the receiver for a flag), so that one choice of contracts which makes all ranks agree is enough. A contract that all
members of a stuck instance asked for is no way out: they knew it alike, so it counts as config.
"""

from __future__ import annotations

from typing import Any

from meshlint.mesh.gate import Expr, Origin
from meshlint.mesh.run import Choice, Options, Run


def quantifier(atom: Expr, options: Options) -> bool:
    """Say whether every choice of a fact must be safe (True) or some choice (False)."""
    if atom.local:
        return options.free_locals
    if atom.var or atom.id in options.shared:
        return True
    return atom.op == "atom" and atom.args[1] is Origin.CONFIG


def refuting_run(runs: list[Run], options: Options) -> Run | None:
    """Give the first run that shows a fault: no choice of contracts makes its config valuation safe."""
    for run in runs:
        if run.fails and not _escapes(_fixed(run, options), runs, options):
            return run
    return None


_Valuation = dict[tuple[int, tuple[int, ...]], Any]


def _fixed(run: Run, options: Options) -> _Valuation:
    members = [set(item.members) for item in run.stuck]
    return {
        choice.key: choice.value
        for choice in run.choices
        if quantifier(choice.atom, options) or any(group <= set(choice.asked) for group in members)
    }


def doubtful(run: Run, runs: list[Run], options: Options) -> bool:
    """Say whether a refuting run rests on several contracts at once: no single one of them leaves no way out."""
    every = {choice.key: choice.value for choice in run.choices if quantifier(choice.atom, options)}
    fixed = _fixed(run, options)
    known = [key for key in fixed if key not in every]
    if len(known) < 2:
        return False
    return all(_escapes({**every, key: fixed[key]}, runs, options) for key in known)


def _escapes(fixed: _Valuation, runs: list[Run], options: Options) -> bool:
    near = [run for run in runs if all(fixed.get(c.key, c.value) == c.value for c in run.choices)]
    if not any(run.fails for run in near):
        return True
    open_fact: Choice | None = None
    for run in near:
        if not run.safe:
            continue
        free = [c for c in run.choices if c.key not in fixed and quantifier(c.atom, options)]
        if not free:
            return True
        open_fact = open_fact or free[0]
    if open_fact is None:
        return False
    values = {c.value for run in near for c in run.choices if c.key == open_fact.key}
    return all(_escapes({**fixed, open_fact.key: value}, near, options) for value in sorted(values, key=repr))


def decisive(run: Run, options: Options) -> bool:
    """Say whether a failing run counts by itself: nothing in it is chosen freely, but one contract at most."""
    fixed = _fixed(run, options)
    free = sum(1 for choice in run.choices if not quantifier(choice.atom, options))
    return len(fixed) == len(run.choices) and free < 2
