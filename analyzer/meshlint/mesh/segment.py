"""Where branches meet again: the parts of a term that can be judged by themselves.

Both sides of a branch come together at its post-dominator. If the part before it leaves no rank waiting, whatever comes
after is a problem of its own: the operations of one instance are matched in order, so that ranks which run ahead wait
for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from meshlint.mesh.gate import Expr
from meshlint.mesh.group import Group
from meshlint.mesh.term import Alt, Break, Exit, Loop, Nil, Node, Op, Opaque, Return, Terms, Wait, children
from meshlint.records import dataclass


def cut(terms: Terms, term: Node, at: Node | None) -> Node:
    """Give `term` up to the node `at` (by shape), which becomes the end; None leaves all."""
    if at is None or at is terms.nil:
        return term
    key = (term.id, at.shape)
    known = terms.cuts.get(key)
    if known is None:
        kept = _Kept(terms, at.shape, _always, True)
        known = terms.cuts[key] = kept.of(term)
        terms.copied[key] = len(kept.done)
    terms.work += terms.copied[key]
    return known


def effort(terms: Terms, term: Node, at: Node | None) -> int:
    """Give how many nodes `cut` went through, alike whether it was asked before or not."""
    return 0 if at is None else terms.copied.get((term.id, at.shape), 0)


def project(terms: Terms, term: Node, keep: Callable[[Group], bool], *, waits: bool = False) -> Node:
    """Give `term` with the events of some groups only; branches without events vanish, and waits unless asked for."""
    kept = _Kept(terms, -1, keep, waits)
    made = kept.of(term)
    terms.work += len(kept.done)
    return made


def drop_uniform(terms: Terms, term: Node) -> Node:
    """Give `term` without the branches and loops that all ranks go through alike."""
    kept: list[Node] = []
    node: Node | None = term
    while node is not None:
        following = terms.joins.next(node)
        alone = cut(terms, node, following) if isinstance(node, (Alt, Loop)) else node
        if not isinstance(node, (Alt, Loop)) or alone.var:
            kept.append(alone)
        node = following
    result = terms.nil
    for part in reversed(kept):
        result = terms.then(part, result) if isinstance(part, (Alt, Loop)) else _before(terms, part, result)
    return result


def _before(terms: Terms, node: Node, rest: Node) -> Node:
    if isinstance(node, Op):
        return terms.moved(node, rest, node.site)
    if isinstance(node, Wait):
        return terms.wait(node.handle, rest, node.site)
    if isinstance(node, Opaque):
        return terms.opaque(node.over, rest, node.site)
    return rest


def _always(group: Group) -> bool:
    return True


@dataclass(slots=True)
class _Kept:
    """A copy of a term that ends at one shape, not looked for inside loops, and holds the events of some groups."""

    terms: Terms
    end: int
    keep: Callable[[Group], bool]
    waits: bool
    done: dict[tuple[int, bool], Node] = field(default_factory=dict)

    def of(self, term: Node) -> Node:
        """Copy, what follows first."""
        done, end = self.done, self.end
        stack = [(term, False)]
        while stack:
            node, inside = stack[-1]
            key = (node.id, inside)
            if key in done:
                stack.pop()
                continue
            if not inside and node.shape == end:
                stack.pop()
                done[key] = self.terms.nil
                continue
            if isinstance(node, Loop):
                ways = [(node.body, True), (node.rest, inside), (node.after_return, inside)]
            else:
                ways = [(child, inside) for child in children(node)]
            missing = [way for way in ways if (way[0].id, way[1]) not in done]
            if missing:
                stack += missing
                continue
            stack.pop()
            done[key] = self._copied(node, [done[child.id, deeper] for child, deeper in ways])
        return done[term.id, False]

    def _copied(self, node: Node, parts: list[Node]) -> Node:
        terms = self.terms
        if isinstance(node, Op):
            return terms.moved(node, parts[0], node.site) if self.keep(node.group) else parts[0]
        if isinstance(node, Wait):
            return terms.wait(node.handle, parts[0], node.site) if self.waits else parts[0]
        if isinstance(node, Opaque):
            return terms.opaque(node.over, parts[0], node.site)
        if isinstance(node, Alt):
            return terms.alt(node.condition, parts[0], parts[1], node.gate)
        if isinstance(node, Loop):
            return terms.loop(node.trip, parts[0], parts[1], node.gate, parts[2])
        return node


def condition_of(node: Alt | Loop) -> Expr:
    """Give what decides a branch or a loop."""
    return node.condition if isinstance(node, Alt) else node.trip


def ends(node: Node) -> bool:
    """Say whether nothing follows."""
    return isinstance(node, (Nil, Break, Return, Exit))
