"""What a walk over one function leaves behind: events, branches, loops, calls and exits, in the order of the text.

Items are turned into terms from the last one back (`build`), so that exits vanish into the branches they leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from meshlint.mesh.dims import Axes
from meshlint.mesh.fast import divides
from meshlint.mesh.gate import Expr
from meshlint.mesh.group import Group
from meshlint.mesh.term import Gate, Node, Site, Terms
from meshlint.records import dataclass


@dataclass(slots=True)
class OpItem:
    """One event; `facts` are the keyword arguments of `Terms.op`."""

    kind: str
    group: Group
    site: Site
    facts: dict[str, Any]


@dataclass(slots=True)
class WaitItem:
    """The wait for an event issued under `handle`."""

    handle: str
    site: Site


@dataclass(slots=True)
class CallItem:
    """A call of a function with a term."""

    term: Node
    site: Site


@dataclass(slots=True)
class OpaqueItem:
    """Something whose events are not known."""

    over: tuple[Group, ...] | None
    site: Site


@dataclass(slots=True)
class AltItem:
    """A branch."""

    condition: Expr
    then: list[Item]
    otherwise: list[Item]
    gate: Gate


@dataclass(slots=True)
class LoopItem:
    """A loop."""

    trip: Expr
    body: list[Item]
    gate: Gate
    otherwise: list[Item] = field(default_factory=list)


@dataclass(slots=True)
class ExitItem:
    """`return`, `break`, `continue`, `raise`, `exit`: the end of the process without an error.

    `lone` is a raise of some ranks, whom others may wait for.
    """

    kind: str
    site: Site


@dataclass(slots=True)
class HoleItem:
    """Where a context manager yields: the body of the `with` goes here."""

    body: list[Item] | None = None


@dataclass(slots=True)
class BlockItem:
    """A stretch with its own returns: the body of a context manager around its hole."""

    body: list[Item]
    site: Site


@dataclass(slots=True)
class GuardItem:
    """A stretch after which `tail` runs on every way out but an exception: `finally`, the end of a `with`."""

    body: list[Item]
    tail: list[Item]


Item = OpItem | WaitItem | CallItem | OpaqueItem | AltItem | LoopItem | ExitItem | HoleItem | BlockItem | GuardItem


@dataclass(frozen=True, slots=True)
class Goals:
    """Where control goes on: at the end of the block, on return, on break, on continue.

    `around` is the context manager that is being built and the goals of the function that uses it.
    """

    returned: Node | None
    broken: Node | None = None
    continued: Node | None = None
    around: tuple[BlockItem, Goals] | None = None

    def through(self, tail: Callable[[Node], Node | None]) -> Goals:
        """Give the same goals, each of them after a tail."""
        returned, broken, continued = (
            None if goal is None else tail(goal) for goal in (self.returned, self.broken, self.continued)
        )
        return Goals(returned, broken, continued, self.around)


def build(terms: Terms, items: list[Item], rest: Node, goals: Goals) -> Node | None:
    """Turn items followed by `rest` into a term; None where no rank that goes on comes out (it raises)."""
    here: Node | None = rest
    for item in reversed(items):
        here = _one(terms, item, here, goals)
    return here


def _one(terms: Terms, item: Item, rest: Node | None, goals: Goals) -> Node | None:
    if isinstance(item, ExitItem):
        if item.kind == "exit":
            return terms.exit(item.site)
        if item.kind == "lone":  # nobody waits where nothing follows
            return terms.exit(item.site) if rest is not None and rest.groups else None
        return {"return": goals.returned, "break": goals.broken, "continue": goals.continued}.get(item.kind)
    if isinstance(item, AltItem):
        then = _branch(terms, item.then, rest, goals)
        otherwise = _branch(terms, item.otherwise, rest, goals)
        if then is None or otherwise is None:
            return otherwise if then is None else then
        return terms.alt(item.condition, then, otherwise, item.gate)
    if isinstance(item, GuardItem):
        return _guarded(terms, item, rest, goals)
    if isinstance(item, BlockItem):
        return _branch(terms, item.body, rest, Goals(terms.nil if rest is None else rest, around=(item, goals)))
    if isinstance(item, HoleItem):
        return rest if item.body is None else _in_hole(terms, item, item.body, rest, goals)
    if rest is None:
        return None
    if isinstance(item, OpItem):
        return terms.op(item.kind, item.group, rest, item.site, **item.facts)
    if isinstance(item, WaitItem):
        return terms.wait(item.handle, rest, item.site)
    if isinstance(item, CallItem):
        return terms.call(item.term, item.site, rest)
    if isinstance(item, OpaqueItem):
        return terms.opaque(item.over, rest, item.site)
    return _loop(terms, item, rest, goals)


def _guarded(terms: Terms, item: GuardItem, rest: Node | None, goals: Goals) -> Node | None:
    """Build a stretch whose every way out runs a tail."""
    inner = goals
    if has_exits(item.body):
        inner = goals.through(lambda goal: build(terms, item.tail, goal, goals))
    after = None if rest is None else build(terms, item.tail, rest, goals)
    return _branch(terms, item.body, after, inner)


def _in_hole(terms: Terms, hole: HoleItem, body: list[Item], rest: Node | None, goals: Goals) -> Node | None:
    """Build the body of a `with`: its exits run what the manager does after its hole, and leave the user's function."""
    if goals.around is None or not has_exits(body):
        return _branch(terms, body, rest, goals)
    block, outer = goals.around
    inner = outer.through(lambda goal: _after_hole(terms, block.body, hole, goal, Goals(goal)))
    return _branch(terms, body, rest, inner)


def _after_hole(terms: Terms, items: list[Item], hole: HoleItem, rest: Node | None, goals: Goals) -> Node | None:
    """Build what stands after a hole, followed by `rest`; nothing for a hole in a loop."""
    here = rest
    for item in reversed(items):
        if item is hole:
            return here
        for inner in _inner(item):
            if _holds(inner, hole):
                if isinstance(item, GuardItem) and inner is item.body and here is not None:
                    here = build(terms, item.tail, here, goals)
                return _after_hole(terms, inner, hole, here, goals)
        here = _one(terms, item, here, goals)
    return rest


def _inner(item: Item) -> tuple[list[Item], ...]:
    """Give the stretches inside of an item of a context manager, loops apart."""
    if isinstance(item, AltItem):
        return (item.then, item.otherwise)
    if isinstance(item, GuardItem):
        return (item.body, item.tail)
    return (item.body,) if isinstance(item, BlockItem | HoleItem) and item.body else ()


def _holds(items: list[Item], hole: HoleItem) -> bool:
    return any(item is hole or any(_holds(inner, hole) for inner in _inner(item)) for item in items)


def _branch(terms: Terms, items: list[Item], rest: Node | None, goals: Goals) -> Node | None:
    if rest is None:
        if not any(isinstance(i, ExitItem) for i in _flat(items)):
            return None
        rest = terms.nil
    return build(terms, items, rest, goals)


def _flat(items: list[Item]) -> list[Item]:
    found: list[Item] = []
    for item in items:
        found.append(item)
        if isinstance(item, AltItem):
            found += _flat(item.then) + _flat(item.otherwise)
        elif not isinstance(item, LoopItem):
            for inner in _inner(item):
                found += _flat(inner)
    return found


def _loop(terms: Terms, item: LoopItem, rest: Node, goals: Goals) -> Node | None:
    body = build(terms, item.body, terms.nil, Goals(terms.leave, terms.stop, terms.nil))
    if item.otherwise:
        after = build(terms, item.otherwise, rest, goals)
        rest = rest if after is None else after
    if body is None:
        return rest
    return terms.loop(item.trip, body, rest, item.gate, goals.returned)


def has_events(items: list[Item]) -> bool:
    """Say whether any event stands in the items."""
    for item in items:
        if isinstance(item, OpItem | WaitItem | OpaqueItem):
            return True
        if isinstance(item, CallItem):
            return True
        if isinstance(item, AltItem) and (has_events(item.then) or has_events(item.otherwise)):
            return True
        if isinstance(item, LoopItem | BlockItem) and has_events(item.body):
            return True
        if isinstance(item, GuardItem) and (has_events(item.body) or has_events(item.tail)):
            return True
        if isinstance(item, HoleItem) and item.body and has_events(item.body):
            return True
    return False


def has_exits(items: list[Item]) -> bool:
    """Say whether some rank can leave what encloses the items."""
    for item in items:
        if isinstance(item, ExitItem):
            return True
        if any(has_exits(inner) for inner in _inner(item)):
            return True
    return False


def leaves(items: list[Item]) -> ExitItem | None:
    """Give the exit that a branch surely takes, if it takes one."""
    for item in items:
        if isinstance(item, ExitItem):
            return item
        if isinstance(item, AltItem):
            first, second = leaves(item.then), leaves(item.otherwise)
            if first is not None and second is not None:
                return first
        leave = None
        if isinstance(item, GuardItem):
            leave = leaves(item.body) or leaves(item.tail)
        elif isinstance(item, BlockItem):
            leave = leaves([inner for inner in item.body if isinstance(inner, HoleItem)])
        elif isinstance(item, HoleItem) and item.body:
            leave = leaves(item.body)
        if leave is not None:
            return leave
    return None


def left_by(items: list[Item], axes: Axes, after: tuple[Group, ...] = ()) -> Iterator[Gate]:
    """Give the gates of which one side acts and leaves, and that others act behind, both on groups that they divide.

    `after` are the groups of what follows the items.
    """
    if not _divide_and_leave(items):  # as in most functions: then nobody needs the groups of each item
        return
    behind = dict.fromkeys(after)
    for item in reversed(items):
        if isinstance(item, AltItem | LoopItem | GuardItem | BlockItem):
            yield from _left_by(item, axes, tuple(behind))
        behind.update(dict.fromkeys(groups_of([item])))


def _divide_and_leave(items: list[Item]) -> bool:
    """Say whether a gate that ranks can pass differently leaves what encloses it."""
    for item in items:
        if isinstance(item, AltItem) and item.condition.var and item.gate.leaves:
            return True
        if any(map(_divide_and_leave, (item.body,) if isinstance(item, LoopItem) else _inner(item))):
            return True
    return False


def _left_by(item: AltItem | LoopItem | GuardItem | BlockItem, axes: Axes, behind: tuple[Group, ...]) -> Iterator[Gate]:
    if isinstance(item, AltItem) and item.condition.var and item.gate.leaves:
        side, other = (item.then, item.otherwise) if item.gate.leaves_if else (item.otherwise, item.then)
        others = (*groups_of(other), *behind)
        if all(any(divides(item.condition, g, axes) for g in groups) for groups in (groups_of(side), others)):
            yield item.gate
    inside = (*behind, *groups_of(item.body)) if isinstance(item, LoopItem) else behind
    for inner in (item.body,) if isinstance(item, LoopItem) else _inner(item):
        yield from left_by(inner, axes, inside)


def groups_of(items: list[Item]) -> tuple[Group, ...]:
    """Give the groups on which anything acts in the items."""
    found: dict[Group, None] = {}
    for item in items:
        if isinstance(item, OpItem):
            found[item.group] = None
        elif isinstance(item, CallItem):
            found.update(dict.fromkeys(item.term.groups))
        for inner in (item.body,) if isinstance(item, LoopItem) else _inner(item):
            found.update(dict.fromkeys(groups_of(inner)))
    return tuple(found)


def filled(items: list[Item], body: list[Item]) -> list[Item]:
    """Copy a context manager's items with the body of the `with` in its hole; nothing else is copied deeply."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, HoleItem):
            found.append(HoleItem(body if item.body is None else filled(item.body, body)))
        elif isinstance(item, AltItem):
            found.append(AltItem(item.condition, filled(item.then, body), filled(item.otherwise, body), item.gate))
        elif isinstance(item, LoopItem):
            found.append(LoopItem(item.trip, filled(item.body, body), item.gate))
        elif isinstance(item, BlockItem):
            found.append(BlockItem(filled(item.body, body), item.site))
        elif isinstance(item, GuardItem):
            found.append(GuardItem(filled(item.body, body), filled(item.tail, body)))
        else:
            found.append(item)
    return found
