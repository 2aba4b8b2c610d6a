"""Values and groups on a concrete mesh: what an expression is for one rank, and which instance a rank is in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from meshlint.mesh.dims import Mesh
from meshlint.mesh.gate import Expr, fold
from meshlint.mesh.group import Group
from meshlint.records import dataclass

LIST_CAP = 4096
"""The longest list of ranks that is written out."""


class Unresolvable(Exception):  # noqa: N818  (a verdict about the mesh, not a fault of the program)
    """A group or value that this mesh gives no meaning to."""


def refuse(expr: Expr) -> Any:
    """Decide no atom: for expressions that must be computed from coordinates and sizes alone."""
    raise Unresolvable(str(expr))


@dataclass(slots=True)
class Layout:
    """One mesh, and the instances of groups on it, computed once."""

    mesh: Mesh
    known: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Values of `fixed` expressions by their id and the rank: the same in every run."""
    _tables: dict[Group, tuple[tuple[int, ...] | None, ...]] = field(default_factory=dict)
    _extents: dict[int, int] = field(default_factory=dict)
    _places: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)

    def extent(self, mask: int) -> int:
        """Give the number of settings of the leaves in `mask`."""
        found = self._extents.get(mask)
        if found is None:
            found = self._extents[mask] = self.mesh.extent(mask)
        return found

    def project(self, rank: int, mask: int) -> tuple[int, ...]:
        """Give the coordinates of `rank` on the leaves in `mask`."""
        found = self._places.get((rank, mask))
        if found is None:
            found = self._places[rank, mask] = self.mesh.project(rank, mask)
        return found

    def members(self, group: Group, rank: int) -> tuple[int, ...] | None:
        """Give the ranks of the instance of `group` that holds `rank`, in group order; None for a non-member.

        Raises Unresolvable where the group's lists or members cannot be computed on this mesh.
        """
        table = self._tables.get(group)
        if table is None:
            table = self._tables[group] = self._table(group)
        return table[rank]

    def _table(self, group: Group) -> tuple[tuple[int, ...] | None, ...]:
        if group.lists is not None:
            return self._listed(group.lists)
        instances: dict[tuple[int, ...], list[int]] = {}
        for rank in range(self.mesh.world):
            if group.members is None or truth(evaluate(group.members, View(self, rank, refuse))):
                instances.setdefault(self.mesh.others(rank, group.dims), []).append(rank)
        table: list[tuple[int, ...] | None] = [None] * self.mesh.world
        for ranks in instances.values():
            for rank in ranks:
                table[rank] = tuple(ranks)
        return tuple(table)

    def _listed(self, lists: Expr) -> tuple[tuple[int, ...] | None, ...]:
        table: list[tuple[int, ...] | None] = [None] * self.mesh.world
        for ranks in _instances(evaluate(lists, View(self, 0, refuse))):
            for rank in ranks:
                if not isinstance(rank, int) or not 0 <= rank < self.mesh.world:
                    raise Unresolvable(f"rank {rank}")
                table[rank] = ranks
        return tuple(table)


def _instances(value: Any) -> tuple[tuple[Any, ...], ...]:
    if not isinstance(value, tuple):
        raise Unresolvable("not a list of ranks")
    if value and all(isinstance(item, tuple) for item in value):
        return value
    return (value,)


@dataclass(slots=True)
class View:
    """What one rank sees: its place, how atoms are decided, and the values that operations left in slots."""

    layout: Layout
    rank: int
    decide: Callable[[Expr], Any]
    slots: dict[str, Any] = field(default_factory=dict)
    read: Callable[[str], None] | None = None
    """Told of each slot that is read."""


def truth(value: Any) -> bool:
    """Give the truth of a computed value."""
    return bool(value)


def evaluate(expr: Expr, view: View, bound: dict[str, Any] | None = None) -> Any:
    """Compute `expr` for one rank; what cannot be computed is decided like an atom of the same `var`."""
    if expr.fixed:
        return _once(expr, view)
    op = expr.op
    if op == "atom":
        return view.decide(expr)
    handler = _HANDLERS.get(op)
    if handler is not None:
        return handler(expr, view, bound)
    left, right = (evaluate(arg, view, bound) for arg in expr.args)
    result = fold(expr.op, left, right)
    return view.decide(expr) if result is None else result


def _once(expr: Expr, view: View) -> Any:
    """Give the value of an expression that is the same in every run, from the table of the layout."""
    known, key = view.layout.known, (expr.id, view.rank)
    found = known.get(key)
    if found is None:
        handler = _HANDLERS.get(expr.op)
        found = known[key] = (
            fold(expr.op, *(evaluate(arg, view) for arg in expr.args)) if handler is None else handler(expr, view, None)
        )
    return found


def _lit(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return expr.args[0]


def _rank(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return view.rank


def _coord(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return view.layout.mesh.index(view.rank, expr.args[0])


def _extent(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return view.layout.extent(expr.args[0])


def _grank(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    ranks = view.layout.members(expr.args[0], view.rank)
    return -1 if ranks is None else ranks.index(view.rank)


def _global(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    ranks, place = view.layout.members(expr.args[0], view.rank), evaluate(expr.args[1], view, bound)
    if ranks is None:
        return -1
    return ranks[place] if isinstance(place, int) and -len(ranks) <= place < len(ranks) else -1


def _size(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    ranks = view.layout.members(expr.args[0], view.rank)
    return -1 if ranks is None else len(ranks)


def _member(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return view.layout.members(expr.args[0], view.rank) is not None


def _atom(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return view.decide(expr)


def _recv(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    slot = expr.args[0]
    if slot not in view.slots:
        return view.decide(expr)
    if view.read is not None:
        view.read(slot)
    return view.slots[slot]


def _not(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return not evaluate(expr.args[0], view, bound)


def _and(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    for arg in expr.args:  # noqa: SIM110 - the innermost loop of every simulation
        if not evaluate(arg, view, bound):
            return False
    return True


def _or(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    for arg in expr.args:  # noqa: SIM110 - the innermost loop of every simulation
        if evaluate(arg, view, bound):
            return True
    return False


def _ite(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    condition, then, otherwise = expr.args
    return evaluate(then if evaluate(condition, view, bound) else otherwise, view, bound)


def _list(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    return tuple(evaluate(arg, view, bound) for arg in expr.args)


def _range(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    parts = [evaluate(arg, view, bound) for arg in expr.args]
    if not all(isinstance(part, int) for part in parts) or parts[2] == 0:
        raise Unresolvable(str(expr))
    return tuple(_capped(range(*parts)))


def _for(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    name, sequence, body = expr.args
    items = evaluate(sequence, view, bound)
    if not isinstance(items, tuple):
        raise Unresolvable(str(expr))
    return tuple(evaluate(body, view, {**(bound or {}), name: item}) for item in _capped(items))


def _var(expr: Expr, view: View, bound: dict[str, Any] | None) -> Any:
    name = expr.args[0]
    if bound is None or name not in bound:
        raise Unresolvable(str(expr))
    return bound[name]


def _capped(items: Any) -> Any:
    if len(items) > LIST_CAP:
        raise Unresolvable("a list of ranks that is too long")
    return items


_HANDLERS: dict[str, Callable[[Expr, View, dict[str, Any] | None], Any]] = {
    "lit": _lit,
    "rank": _rank,
    "coord": _coord,
    "extent": _extent,
    "grank": _grank,
    "global": _global,
    "size": _size,
    "member": _member,
    "atom": _atom,
    "recv": _recv,
    "not": _not,
    "and": _and,
    "or": _or,
    "ite": _ite,
    "list": _list,
    "range": _range,
    "for": _for,
    "var": _var,
}
