"""Where branches meet again: the parts of a term that can be judged by themselves.

Both sides of a branch come together at its post-dominator. If the part before it leaves no rank waiting, whatever comes
after is a problem of its own: the operations of one instance are matched in order, so that ranks which run ahead wait
for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from meshlint.mesh.gate import Expr
from meshlint.mesh.group import Group
from meshlint.mesh.term import Alt, Break, Exit, Loop, Nil, Node, Op, Opaque, Return, Terms, Wait, children


@dataclass(slots=True)
class Joins:
    """Post-dominators of the nodes of one table, by shape; computed on demand and kept.

    `up[shape]` is the node to which every way from that node leads next; None at the ends. Ways that leave the program
    by an exception lead nowhere and do not count.
    """

    up: dict[int, Node | None] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    depth: dict[int, int] = field(default_factory=dict)

    def next(self, node: Node) -> Node | None:
        """Give the nearest node that every way from `node` passes, or None if the ways end apart."""
        self._fill(node)
        return self.up[node.shape]

    def _fill(self, term: Node) -> None:
        stack = [term]
        while stack:
            node = stack[-1]
            below = [child for child in _ways(node) if child.shape not in self.up]
            if below:
                stack += below
                continue
            stack.pop()
            if node.shape not in self.up:
                joined = self._joined(self._living(node))
                self.up[node.shape] = joined
                self.depth[node.shape] = 0 if joined is None else self.depth[joined.shape] + 1

    def _living(self, node: Node) -> tuple[Node, ...]:
        ways = _ways(node)
        living = tuple(way for way in ways if way.shape not in self.dead)
        if isinstance(node, Exit) or (ways and not living):
            self.dead.add(node.shape)
        return living

    def _joined(self, ways: tuple[Node, ...]) -> Node | None:
        if not ways:
            return None
        joined: Node | None = ways[0]
        for way in ways[1:]:
            joined = self._meet(joined, way)
        return joined

    def _meet(self, left: Node | None, right: Node | None) -> Node | None:
        while left is not None and right is not None and left.shape != right.shape:
            if self.depth[left.shape] >= self.depth[right.shape]:
                left = self.up[left.shape]
            else:
                right = self.up[right.shape]
        return left if right is not None else None


def _ways(node: Node) -> tuple[Node, ...]:
    """Give where control can go: a loop's body is inside of the loop, its return only if there is one."""
    if isinstance(node, Loop):
        return (node.rest, node.after_return) if returns(node.body) else (node.rest,)
    return children(node)


def returns(body: Node) -> bool:
    """Say whether a loop body holds a `return`."""
    return _holds(body, Return)


def breaks(body: Node) -> bool:
    """Say whether a loop body leaves its loop: `break`, `return` or an exit."""
    return _holds(body, (Break, Return, Exit))


def _holds(body: Node, kinds: type[Node] | tuple[type[Node], ...]) -> bool:
    seen: set[int] = set()
    stack: list[Node] = [body]
    while stack:
        node = stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        if isinstance(node, kinds):
            return True
        if isinstance(node, Loop):
            stack += [node.rest, node.after_return]
            if _holds(node.body, (Return, Exit)):
                return True
        else:
            stack += children(node)
    return False


def cut(terms: Terms, term: Node, at: Node | None) -> Node:
    """Give `term` up to the node `at` (by shape), which becomes the end; None leaves all."""
    if at is None:
        return term
    return _Kept(terms, at.shape, _always, True).of(term)


def project(terms: Terms, term: Node, keep: Callable[[Group], bool], *, waits: bool = False) -> Node:
    """Give `term` with the events of some groups only; branches without events vanish, and waits unless asked for."""
    return _Kept(terms, -1, keep, waits).of(term)


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
        stack = [(term, False)]
        while stack:
            key = (stack[-1][0].id, stack[-1][1])
            missing = [] if key in self.done else [way for way in self._below(*stack[-1]) if self._lacks(way)]
            if missing:
                stack += missing
                continue
            node, inside = stack.pop()
            if key not in self.done:
                self.done[key] = self._copied(node, inside)
        return self.done[term.id, False]

    def _lacks(self, way: tuple[Node, bool]) -> bool:
        return (way[0].id, way[1]) not in self.done

    def _below(self, node: Node, inside: bool) -> list[tuple[Node, bool]]:
        if not inside and node.shape == self.end:
            return []
        if isinstance(node, Loop):
            return [(node.body, True), (node.rest, inside), (node.after_return, inside)]
        return [(child, inside) for child in children(node)]

    def _copied(self, node: Node, inside: bool) -> Node:
        terms = self.terms
        if not inside and node.shape == self.end:
            return terms.nil
        parts = [self.done[child.id, deeper] for child, deeper in self._below(node, inside)]
        if isinstance(node, Op):
            return terms.again(node, parts[0], node.site) if self.keep(node.group) else parts[0]
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
