"""Buffers that nothing fills: a hand-written batch function whose receivers return what they only made room for.

Within tensor parallelism one rank reads the batch and sends it, the others make room with `torch.empty` and receive.
Where the branch of a stage leaves a key out on both sides, no rank waits, but the receivers return whatever the memory
held before, and the sender its own values.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from meshlint.mesh.dims import Axes, mesh_of
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, truth
from meshlint.mesh.gate import Expr, atoms
from meshlint.protocol.facts import Definition, Node
from meshlint.protocol.stages import STAGE_NAMES
from meshlint.protocol.values import Domain, Map, V, is_hollow
from meshlint.records import dataclass

SETTINGS = 6
"""Facts whose values are tried in all combinations."""

MAX_KEYS = 64


@dataclass(frozen=True, slots=True)
class Unfilled:
    """Keys of a returned batch that receivers on a stage never get, and the line of the return.

    `served` are the stages on which receivers get them.
    """

    line: int
    keys: tuple[str, ...]
    stage: str
    served: frozenset[str] = frozenset()


def makes_room(definition: Definition) -> bool:
    """Say whether a function makes a tensor that is not filled and asks for a place in a tensor-parallel group."""
    names = {text.rpartition(".")[2] for text in definition.callees}
    return bool(names & {"empty", "empty_like"}) and any("rank" in name for name in names)


def unfilled(returns: list[tuple[Expr, V, Node]], domain: Domain, axes: Axes) -> Unfilled | None:
    """Find the keys of a returned batch that are left unfilled on some stage and filled on another."""
    for condition, value, node in returns:
        found: dict[str, list[str]] = {}
        served: dict[str, set[str]] = {}
        for key, element in list(elements(value, domain))[:MAX_KEYS]:
            stage = _left_out(condition, element, domain, axes, served.setdefault(key, set()))
            if stage:
                found.setdefault(stage, []).append(key)
        for stage, keys in sorted(found.items()):
            if any(stage in stages for stages in served.values()):
                there = frozenset().union(*(served[key] for key in keys))
                return Unfilled(node[1], tuple(keys), stage, there - {stage})
    return None


def elements(value: V, domain: Domain) -> Iterator[tuple[str, V]]:
    """Give the elements of a dict by key, those of two joined dicts joined."""
    if isinstance(value.data, Map):
        yield from ((key, element) for key, element in value.data.items if isinstance(key, str))
        return
    phi = value.phi
    if phi is None or phi.expr is not value.expr:
        return
    first, second = dict(elements(phi.then, domain)), dict(elements(phi.otherwise, domain))
    for key, element in first.items():
        if key in second:
            yield key, domain.join(phi.condition, element, second[key])


def _left_out(condition: Expr, element: V, domain: Domain, axes: Axes, served: set[str]) -> str:
    """Give the name of the stage on which receivers alone hold an unfilled buffer; empty where there is none.

    Stages on which they hold something are added to `served`: one that gets nothing at all needs no batch.
    """
    hollow, none = hollow_if(element.expr, domain), domain.is_none(element)
    facts = list(dict.fromkeys(fact for expr in (condition, hollow, none) for fact in atoms(expr)))
    if len(facts) > SETTINGS or any(fact.var for fact in facts):
        return ""
    for values in product(*((2, 0) if fact.op == "atom" and fact.args[2] else (True, False) for fact in facts)):
        chosen = {fact.id: value for fact, value in zip(facts, values, strict=True)}
        try:
            stage = _on_a_stage(condition, hollow, none, axes, chosen, served)
        except Unresolvable:
            return ""
        if stage:
            return stage
    return ""


def _on_a_stage(condition: Expr, hollow: Expr, none: Expr, axes: Axes, facts: dict[int, Any], served: set[str]) -> str:
    bad, good = "", False
    for stages in (1, 2, 3):
        layout = Layout(mesh_of(axes, tp=2, pp=stages))

        def of(expr: Expr, rank: int, layout: Layout = layout) -> bool:
            return truth(evaluate(expr, View(layout, rank, lambda fact: facts[fact.id])))

        for stage in range(stages):
            ranks = [
                next(rank for rank in range(2 * stages) if _place(layout, rank, axes) == (tp, stage)) for tp in (0, 1)
            ]
            if not all(of(condition, rank) for rank in ranks):
                continue
            empty = [of(hollow, rank) for rank in ranks]
            there = [not of(none, rank) for rank in ranks]
            if empty == [False, True] and there[0]:
                bad = bad or STAGE_NAMES[stages][stage]
            if empty == [False, False] and all(there):
                good = True
                served.add(STAGE_NAMES[stages][stage])
    return bad if good else ""


def _place(layout: Layout, rank: int, axes: Axes) -> tuple[int, int]:
    return layout.project(rank, axes.mask("tp"))[0], layout.project(rank, axes.mask("pp"))[0]


def hollow_if(expr: Expr, domain: Domain) -> Expr:
    """Give the condition under which a value is a buffer that nothing has filled."""
    values = domain.values
    if expr.op == "ite":
        condition, then, otherwise = expr.args
        return domain.choose(condition, hollow_if(then, domain), hollow_if(otherwise, domain))
    return values.lit(is_hollow(expr))
