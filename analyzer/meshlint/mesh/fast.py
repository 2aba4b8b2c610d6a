"""Proofs of safety that need no simulation.

A term is safe if every branch and loop in it either cannot divide an instance of a group that stands inside of it, or
makes the same calls, in one order, on all groups that it can divide. The proofs are sufficient, not necessary: where
they fail, the simulation decides.
"""

from __future__ import annotations

from dataclasses import field

from meshlint.mesh.choose import parts
from meshlint.mesh.dims import ALL, Axes, Overlap
from meshlint.mesh.gate import Expr, shows_apart
from meshlint.mesh.group import Group
from meshlint.mesh.segment import cut, project
from meshlint.mesh.term import Alt, Exit, Loop, Node, Op, Opaque, Terms, Wait, breaks, returns, walk
from meshlint.records import dataclass

DEPTH_CAP = 60
"""How deep branches may nest for a proof."""


def divides(condition: Expr, group: Group, axes: Axes) -> bool:
    """Say whether the value of `condition` can differ inside an instance of `group`."""
    if not condition.var:
        return False
    if group.unknown:
        alone = group.of_program and of_rank_alone(condition)
        return condition.local or shows_apart(condition) or names(condition, group) or alone
    if group.lists is not None:
        return True
    return axes.overlap(condition.var, group.dims) is not Overlap.NONE


def names(condition: Expr, group: Group) -> bool:
    """Say whether a condition asks for the place in one group: all that can be said to divide an unknown one."""
    return any(part.op in ("grank", "global") and group.may_equal(part.args[0]) for part in parts((condition,)))


def of_rank_alone(condition: Expr) -> bool:
    """Say whether a condition asks for the rank in the job, and for no place in a group."""
    asked = [part for part in parts((condition,)) if part.op in ("rank", "coord", "grank", "global")]
    return bool(asked) and all(part.op == "rank" or (part.op == "coord" and part.args[0] == ALL) for part in asked)


def weakly(condition: Expr, group: Group, axes: Axes) -> bool:
    """Say whether `condition` divides `group` only by rank numbers whose sizes are not known, or by a name."""
    if condition.weak or group.weak:
        return True
    return group.lists is None and condition.var != ALL and axes.overlap(condition.var, group.dims) is Overlap.WEAK


@dataclass(slots=True)
class Prover:
    """Proves terms of one table safe; answers are kept by shape."""

    terms: Terms
    axes: Axes
    _known: dict[int, bool] = field(default_factory=dict)

    def safe(self, term: Node, depth: int = 0) -> bool:
        """Say whether the term is proven safe; False says nothing."""
        if depth > DEPTH_CAP:
            return False
        if term.shape not in self._known:
            self._known[term.shape] = self._safe(term, depth + 1)
        return self._known[term.shape]

    def _safe(self, term: Node, depth: int) -> bool:
        if not term.var:
            return not _roots_differ(term)
        node: Node | None = term
        while node is not None:
            if isinstance(node, Op) and (varies(node) or _misses_some(node)):
                return False
            if isinstance(node, Alt) and not self._branch(node, depth):
                return False
            if isinstance(node, Loop) and not self._loop(node, depth):
                return False
            node = node.rest if isinstance(node, (Op, Wait, Opaque)) else self.terms.joins.next(node)
        return True

    def _branch(self, node: Alt, depth: int) -> bool:
        join = self.terms.joins.next(node)
        then, otherwise = cut(self.terms, node.then, join), cut(self.terms, node.otherwise, join)
        if not self.safe(then, depth) or not self.safe(otherwise, depth):
            return False
        if not node.condition.var:
            return True
        if _leaves(then) or _leaves(otherwise):
            return False
        divided = [group for group in _groups(then, otherwise) if divides(node.condition, group, self.axes)]
        return not divided or self._same_order(then, otherwise, divided)

    def _loop(self, node: Loop, depth: int) -> bool:
        if not self.safe(node.body, depth) or (node.body.var and breaks(node.body)):
            return False
        if any(divides(node.trip, group, self.axes) for group in node.body.groups):
            return False
        return not returns(node.body) or (not node.trip.var and self._after(node, depth))

    def _after(self, node: Loop, depth: int) -> bool:
        join = self.terms.joins.next(node)
        ways = (cut(self.terms, node.rest, join), cut(self.terms, node.after_return, join))
        return all(self.safe(way, depth) for way in ways)

    def _same_order(self, then: Node, otherwise: Node, divided: list[Group]) -> bool:
        """Compare both sides on all divided groups at once; only where each rank of a side makes the same calls."""
        if then.var or otherwise.var:
            return False
        keys = {group.partition for group in divided}
        first = project(self.terms, then, lambda group: group.partition in keys)
        second = project(self.terms, otherwise, lambda group: group.partition in keys)
        return first.shape == second.shape and not _unknown(first)


def _groups(*sides: Node) -> list[Group]:
    return list(dict.fromkeys(group for side in sides for group in side.groups))


def varies(op: Op) -> bool:
    """Say whether what the members must share can differ between them, or a constant root may be no member."""
    if any(expr.var for expr in op.agree):
        return True
    if op.root is None:
        return False
    return bool(op.root.var & op.group.dims) or (not op.root.var and op.group.dims != ALL)


def _misses_some(op: Op) -> bool:
    """Say whether a value is received on a group of which not every rank is a member: the others keep their own."""
    return bool(op.into) and (op.group.members is not None or op.group.lists is not None)


def _roots_differ(term: Node) -> bool:
    return any(isinstance(node, Op) and (varies(node) or _misses_some(node)) for node in walk(term))


def _leaves(side: Node) -> bool:
    return any(isinstance(node, Exit) for node in walk(side)) or breaks(side)


def _unknown(side: Node) -> bool:
    return any(isinstance(node, Opaque) for node in walk(side))
