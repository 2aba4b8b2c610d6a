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
from meshlint.mesh.term import Alt, Break, Exit, Loop, Nil, Node, Op, Opaque, Return, Terms, Wait
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
        terms.copied[key] = kept.size
    terms.work += terms.copied[key]
    return known


def effort(terms: Terms, term: Node, at: Node | None) -> int:
    """Give how many nodes `cut` went through, alike whether it was asked before or not."""
    return 0 if at is None else terms.copied.get((term.id, at.shape), 0)


def project(terms: Terms, term: Node, keep: Callable[[Group], bool], *, waits: bool = False) -> Node:
    """Give `term` with the events of some groups only; branches without events vanish, and waits unless asked for."""
    kept = _Kept(terms, -1, keep, waits)
    made = kept.of(term)
    terms.work += kept.size
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
    """A copy of a term that ends at one shape, not looked for inside loops, and holds the events of some groups.

    What a node needs of those that follow it decides its copy: where these stay what they are, so does the node.
    """

    terms: Terms
    end: int
    keep: Callable[[Group], bool]
    waits: bool
    outside: dict[int, Node] = field(default_factory=dict)
    """The copy of each node, by its id."""
    inside: dict[int, Node] = field(default_factory=dict)
    """The same, of nodes inside of loop bodies."""

    @property
    def size(self) -> int:
        """How many nodes were gone through."""
        return len(self.outside) + len(self.inside)

    def of(self, term: Node) -> Node:
        """Copy, what follows first."""
        stack: list[tuple[Node, bool]] = [(term, False)]
        while stack:
            node, inside = stack[-1]
            done = self.inside if inside else self.outside
            if node.id in done:
                stack.pop()
                continue
            if not inside and node.shape == self.end:
                done[node.id] = self.terms.nil
                stack.pop()
                continue
            made = self.copied(node, inside, done, stack)
            if made is not None:
                done[node.id] = made
                stack.pop()
        return self.outside[term.id]

    def copied(self, node: Node, inside: bool, done: dict[int, Node], stack: list[tuple[Node, bool]]) -> Node | None:
        """Copy one node if what follows is copied; put that on the stack where it is not."""
        terms = self.terms
        if isinstance(node, (Op, Wait, Opaque)):
            rest = done.get(node.rest.id)
            if rest is None:
                stack.append((node.rest, inside))
                return None
            return self.event(node, rest)
        if isinstance(node, Alt):
            then, otherwise = done.get(node.then.id), done.get(node.otherwise.id)
            if then is None:
                stack.append((node.then, inside))
            if otherwise is None:
                stack.append((node.otherwise, inside))
            if then is None or otherwise is None:
                return None
            if then is node.then and otherwise is node.otherwise:
                return node
            return terms.alt(node.condition, then, otherwise, node.gate)
        if isinstance(node, Loop):
            return self.loop(node, inside, done, stack)
        return node

    def event(self, node: Op | Wait | Opaque, rest: Node) -> Node:
        """Copy what only one node follows."""
        same = rest is node.rest
        if isinstance(node, Op):
            if not self.keep(node.group):
                return rest
            return node if same else self.terms.moved(node, rest, node.site)
        if isinstance(node, Wait):
            if not self.waits:
                return rest
            return node if same else self.terms.wait(node.handle, rest, node.site)
        return node if same else self.terms.opaque(node.over, rest, node.site)

    def loop(self, node: Loop, inside: bool, done: dict[int, Node], stack: list[tuple[Node, bool]]) -> Node | None:
        """Copy a loop, or put on the stack what it lacks."""
        body, rest, after = self.inside.get(node.body.id), done.get(node.rest.id), done.get(node.after_return.id)
        if body is not None and rest is not None and after is not None:
            if body is node.body and rest is node.rest and after is node.after_return:
                return node
            return self.terms.loop(node.trip, body, rest, node.gate, after)
        ways = ((node.body, True, body), (node.rest, inside, rest), (node.after_return, inside, after))
        stack += [(way, deeper) for way, deeper, made in ways if made is None]
        return None


def condition_of(node: Alt | Loop) -> Expr:
    """Give what decides a branch or a loop."""
    return node.condition if isinstance(node, Alt) else node.trip


def ends(node: Node) -> bool:
    """Say whether nothing follows."""
    return isinstance(node, (Nil, Break, Return, Exit))
