"""Early returns of Nones: a stage in the middle of the pipeline that gets no layout of packed sequences.

A function that gives a batch returns one None for each of its values on stages that are neither first nor last, and on
the others something that carries the layout. Stages in the middle run attention too. A setting in the gate may say
whether anything is packed, so that all its values must show the fault; tests of layers for multi-token prediction, of
virtual stages and of what chooses among the other returns may be any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from meshlint.mesh.dims import Axes, mesh_of
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, truth
from meshlint.mesh.gate import Expr, Origin, atoms
from meshlint.protocol.facts import Definition, Node, dotted
from meshlint.protocol.values import Instance, Seq, V
from meshlint.records import dataclass

STAGES = 3
MIDDLE = 1
SETTINGS = 7
"""Facts whose values are tried in all combinations."""

Return = tuple[Expr, V, Node]
"""Under which condition of the branches around it, which value, and the statement."""


@dataclass(frozen=True, slots=True)
class Nones:
    """A return of Nones on the middle stage, and what it leaves out."""

    line: int
    keys: tuple[str, ...]


def may_return_nones(definition: Definition) -> bool:
    """Say whether a function returns Nones in one place and as many values in another."""
    shapes = [_display(node) for node in _returns(definition.body)]
    blank = {len(items) for items in shapes if len(items) > 1 and all(item == ("C", None) for item in items)}
    return any(len(items) in blank and any(item != ("C", None) for item in items) for items in shapes)


def _returns(body: tuple[Node, ...]) -> Iterator[Node]:
    for node in body:
        if node[0] == "return":
            yield node
        for part in node[2:]:
            if isinstance(part, tuple) and part and isinstance(part[0], tuple) and node[0] != "def":
                yield from _returns(tuple(inner for inner in part if inner and isinstance(inner[0], str)))


def _display(node: Node) -> tuple[Node, ...]:
    value = node[2]
    return tuple(value[1]) if value[0] in ("T", "L") else ()


def nones(returns: list[Return], axes: Axes, packed: Callable[[str], bool], null: Callable[[V], Expr]) -> Nones | None:
    """Find the return of Nones that keeps the layout from the middle stage."""
    blank = next((r for r in returns if _is_blank(r[1]) and _names_stages(r[0], axes)), None)
    if blank is None:
        return None
    count = len(blank[1].data.items)
    places = {place: key for place in range(count) if (key := _packed_name(returns, place, count, packed))}
    conditions = [condition for condition, _, _ in returns]
    facts = list(dict.fromkeys(atom for condition in conditions for atom in atoms(condition)))
    if not places or len(facts) > SETTINGS or any(_divides(fact, axes) for fact in facts):
        return None
    here = {atom.id for atom in atoms(blank[0])}
    free = [fact for fact in facts if _is_free(fact) or fact.id not in here]
    asked = [fact for fact in facts if fact.id in here and not _is_free(fact)]
    try:
        keys = [key for place, key in places.items() if _always(returns, axes, blank, place, null, free, asked)]
    except Unresolvable:
        return None
    return Nones(blank[2][1], tuple(dict.fromkeys(keys))) if keys else None


def _always(
    returns: list[Return], axes: Axes, blank: Return, place: int, null: Callable[[V], Expr], free: list[Expr],
    asked: list[Expr],
) -> bool:  # fmt: skip
    """Say whether for some values of the free facts all values of the others leave the middle alone without it."""
    for chosen in _values(free):
        if all(_lacks(returns, axes, blank, place, null, {**chosen, **rest}) for rest in _values(asked)):
            return True
    return False


def _values(facts: list[Expr]) -> Iterator[dict[int, Any]]:
    for values in product(*((2, 0) if fact.args[2] else (True, False) for fact in facts)):
        yield {fact.id: value for fact, value in zip(facts, values, strict=True)}


def _lacks(
    returns: list[Return], axes: Axes, blank: Return, place: int, null: Callable[[V], Expr], facts: dict[int, Any]
) -> bool:
    layout = Layout(mesh_of(axes, pp=STAGES))
    taken: list[Return] = []
    for stage in range(STAGES):

        def decide(expr: Expr) -> Any:
            if expr.id not in facts:
                raise Unresolvable(str(expr))
            return facts[expr.id]

        view = View(layout, stage, decide)
        found = next((r for r in returns if truth(evaluate(r[0], view))), None)
        if found is None:
            return False
        taken.append(found)
    others = [found for stage, found in enumerate(taken) if stage != MIDDLE]
    return taken[MIDDLE] is blank and all(_carries(found[1], place, len(blank[1].data.items), null) for found in others)


def _carries(value: V, place: int, count: int, null: Callable[[V], Expr]) -> bool:
    if not isinstance(value.data, Seq) or len(value.data.items) != count:
        return False
    gone = null(value.data.items[place])
    return not (gone.op == "lit" and gone.args[0])


def _is_blank(value: V) -> bool:
    items = value.data.items if isinstance(value.data, Seq) else ()
    return len(items) > 1 and all(item.expr.op == "lit" and item.expr.args[0] is None for item in items)


def _names_stages(condition: Expr, axes: Axes) -> bool:
    """Say whether a condition tests the place along the pipeline by itself."""
    stack, mask = [condition], axes.mask("pp")
    while stack:
        expr = stack.pop()
        if expr.op == "coord" and expr.args[0] & mask and not expr.weak:
            return True
        stack += [arg for arg in expr.args if isinstance(arg, Expr)]
    return False


def _packed_name(returns: list[Return], place: int, count: int, packed: Callable[[str], bool]) -> str:
    """Give the name of a value that carries the layout; none for others."""
    for _, value, node in returns:
        if not isinstance(value.data, Seq) or len(value.data.items) != count:
            continue
        item, shown = value.data.items[place], _display(node)
        written = dotted(shown[place]) if len(shown) == count else ""
        for name in (written.rpartition(".")[2], item.label.lstrip("~")):
            if name and packed(name):
                return name
        if isinstance(item.data, Instance) or "PackedSeqParams" in item.text:
            kind = item.text.rpartition(".")[2].rstrip("()")
            if kind == "PackedSeqParams":
                return written or kind
    return ""


def _divides(fact: Expr, axes: Axes) -> bool:
    return fact.op != "atom" or fact.local or bool(fact.var and not _is_free(fact))


def _is_free(fact: Expr) -> bool:
    """Say whether a fact is about multi-token prediction or virtual stages."""
    if fact.op != "atom" or fact.args[1] in (Origin.LOCAL,):
        return False
    words = str(fact.args[0]).lower()
    return any(word in words for word in ("mtp", "virtual", "vp_", "vpp", "count("))
