"""What a walk over one function leaves behind: events, branches, loops, calls and exits, in the order of the text.

Items are turned into terms from the last one back (`build`), so that exits vanish into the branches they leave.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from meshlint.mesh.gate import Expr
from meshlint.mesh.group import Group
from meshlint.mesh.term import Gate, Node, Site, Terms


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
    """`return`, `break`, `continue` or `raise`."""

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


Item = OpItem | WaitItem | CallItem | OpaqueItem | AltItem | LoopItem | ExitItem | HoleItem | BlockItem


@dataclass(frozen=True, slots=True)
class Goals:
    """Where control goes on: at the end of the block, on return, on break, on continue."""

    returned: Node
    broken: Node | None = None
    continued: Node | None = None


def build(terms: Terms, items: list[Item], rest: Node, goals: Goals) -> Node | None:
    """Turn items followed by `rest` into a term; None where no rank that goes on comes out (it raises)."""
    here: Node | None = rest
    for item in reversed(items):
        here = _one(terms, item, here, goals)
    return here


def _one(terms: Terms, item: Item, rest: Node | None, goals: Goals) -> Node | None:
    if isinstance(item, ExitItem):
        return {"return": goals.returned, "break": goals.broken, "continue": goals.continued}.get(item.kind)
    if isinstance(item, AltItem):
        then = _branch(terms, item.then, rest, goals)
        otherwise = _branch(terms, item.otherwise, rest, goals)
        if then is None or otherwise is None:
            return otherwise if then is None else then
        return terms.alt(item.condition, then, otherwise, item.gate)
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
    if isinstance(item, LoopItem):
        return _loop(terms, item, rest, goals)
    if isinstance(item, BlockItem):
        return build(terms, item.body, rest, Goals(rest))
    if item.body is not None:
        return build(terms, item.body, rest, goals)
    return rest


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
        if isinstance(item, HoleItem) and item.body and has_events(item.body):
            return True
    return False


def has_exits(items: list[Item]) -> bool:
    """Say whether some rank can leave what encloses the items."""
    for item in items:
        if isinstance(item, ExitItem):
            return True
        if isinstance(item, AltItem) and (has_exits(item.then) or has_exits(item.otherwise)):
            return True
        if isinstance(item, BlockItem) and has_exits(item.body):
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
    return None


def filled(items: list[Item], body: list[Item]) -> list[Item]:
    """Copy a context manager's items with the body of the `with` in its hole; nothing else is copied deeply."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, HoleItem):
            found.append(HoleItem(body))
        elif isinstance(item, AltItem):
            found.append(AltItem(item.condition, filled(item.then, body), filled(item.otherwise, body), item.gate))
        elif isinstance(item, LoopItem):
            found.append(LoopItem(item.trip, filled(item.body, body), item.gate))
        elif isinstance(item, BlockItem):
            found.append(BlockItem(filled(item.body, body), item.site))
        else:
            found.append(item)
    return found
