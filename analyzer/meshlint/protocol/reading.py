"""What abstract values and items say: numbers, lists of ranks, arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.mesh.dims import ALL, STANDARD, leaf_of
from meshlint.mesh.gate import Expr, Values, show, takes_turns
from meshlint.mesh.group import Group
from meshlint.mesh.simulate import RECEIVES, SENDS
from meshlint.mesh.term import Site
from meshlint.models.entry import Entry
from meshlint.protocol.items import (
    AltItem,
    BlockItem,
    ExitItem,
    GuardItem,
    HoleItem,
    Item,
    LoopItem,
)
from meshlint.protocol.values import (
    Phi,
    Seq,
    V,
)

if TYPE_CHECKING:
    from meshlint.protocol.walk import Walker


MAX_SIZE = 8
"""The largest number of ranks that an assertion is taken to ask for: meshes are not larger."""

_NUMBERS = frozenset(
    ("rank", "coord", "extent", "grank", "global", "size", "+", "-", "*", "//", "%", "min", "max", "var")
)


def argument_of(where: tuple[int, str], args: list[V], kwargs: dict[str, V]) -> V | None:
    """Give an argument by its position or keyword; None where it is not given."""
    position, keyword = where
    if keyword and keyword in kwargs:
        return kwargs[keyword]
    return args[position] if 0 <= position < len(args) else None


def unpacks(phi: Phi, count: int) -> bool:
    """Say whether both sides of a joined value are known sequences of a length."""
    sides = (phi.then.data, phi.otherwise.data)
    return all(isinstance(side, Seq) and len(side.items) == count for side in sides)


def is_none(value: V) -> bool:
    """Say whether a value is the literal None."""
    return value.expr.op == "lit" and value.expr.args[0] is None


def is_number(expr: Expr) -> bool:
    """Say whether a value number can be computed with."""
    if expr.op == "lit":
        return isinstance(expr.args[0], int)
    if expr.op == "atom":
        return bool(expr.args[2])
    if expr.op == "ite":
        return is_number(expr.args[1]) and is_number(expr.args[2])
    return expr.op in _NUMBERS or expr.op == "recv"


def is_truth(expr: Expr) -> bool:
    """Say whether a value number is a truth value."""
    return expr.op in ("==", "<", "<=", "in", "not", "and", "or", "member") or (expr.op == "atom" and not expr.args[2])


def atoms_in(expr: Expr) -> bool:
    """Say whether anything in a value number is not computed from coordinates and sizes."""
    if expr.op in ("atom", "recv"):
        return True
    return any(atoms_in(arg) for arg in expr.args if isinstance(arg, Expr))


def same_place(values: Values, one: Expr, other: Expr) -> Expr:
    """Give `one == other`, where a program asks whether its rank in a group is its rank among more ranks.

    It asks so for the first replica, whose layout is not known: the ranks of one group answer alike. Of ranks along
    the same dims, by a name and by a getter, the program itself says that they differ: by a dim of their own.
    """
    for place, rank in ((one, other), (other, one)):
        if not _is_hinted(place):
            continue
        if rank.op == "ite":
            condition, then, otherwise = rank.args
            return values.choose(condition, same_place(values, place, then), same_place(values, place, otherwise))
        if rank.op == "rank" or rank.args[:1] == (ALL,):
            return values.first(STANDARD.beside(place.var), weak=place.weak)
        if rank.op == "coord" and rank.var == place.var and not rank.weak:
            return values.first(leaf_of(f"replicas over {place.var}"), weak=True)
    return values.compare("==", one, other)


def _is_hinted(place: Expr) -> bool:
    """Say whether a number is a rank in a group of which a name or its identity is all that is known."""
    if place.op == "grank":
        return bool(place.args[0].unknown)
    return place.op == "coord" and place.weak and place.args[0] != ALL


def size_facts(values: Values, condition: Expr) -> tuple[Expr, ...]:
    """Give what a condition that all ranks satisfy says of the numbers of ranks, where it says a small number."""
    if condition.op == "and":
        return tuple(fact for part in condition.args for fact in size_facts(values, part))
    test = condition.args[0] if condition.op == "not" else condition
    if test.op not in ("==", "<", "<="):
        return ()
    sizes = [arg for arg in test.args if arg.op in ("extent", "rank", "coord")]
    numbers = [arg.args[0] for arg in test.args if arg.op == "lit"]
    if len(sizes) != 1 or len(numbers) != 1 or not isinstance(numbers[0], int) or not 0 < numbers[0] <= MAX_SIZE:
        return ()
    if sizes[0].op == "extent":
        return (condition,)
    if test is not condition or test.op != "<" or test.args[0] is not sizes[0]:
        return ()
    mask = ALL if sizes[0].op == "rank" else sizes[0].args[0]
    return (values.compare("<=", values.extent(mask), numbers[0]),)


def may_be_root(entry: Entry, group: Group, root: Expr) -> bool:
    """Say whether a root is kept: one that varies on the group only where more than a name says so, and no peer."""
    if group.unknown:
        return root.op == "global" and group.may_equal(root.args[0])
    return not root.var & group.dims or (not root.weak and entry.op not in SENDS | RECEIVES)


def among_members(kwargs: dict[str, V]) -> bool:
    """Say whether a group may be created by its members alone."""
    near = kwargs.get("use_local_synchronization")
    return near is not None and (near.expr.op != "lit" or bool(near.expr.args[0]))


def comes_in_turn(value: V | None) -> bool:
    """Say whether a value comes in an order of each rank's own."""
    return value is not None and takes_turns(value.expr)


def listed_group(ranks: V | None) -> Group | None:
    """Give the group of a list of ranks that all ranks write alike; None where it is not known."""
    if ranks is None or ranks.expr.op not in ("list", "range") or ranks.expr.var or atoms_in(ranks.expr):
        return None
    name = f"[{', '.join(map(show, ranks.expr.args))}]" if ranks.expr.op == "list" else show(ranks.expr)
    return Group(ALL, lists=ranks.expr, name=name)


def is_oneself(value: V) -> bool:
    """Say whether a list of ranks holds the own rank alone."""
    items = value.data.items if isinstance(value.data, Seq) else ()
    return len(items) == 1 and (items[0].expr.op == "rank" or items[0].expr.args[:1] == (ALL,))


def escapes_in(items: list[Item]) -> bool:
    """Say whether a loop's items leave the function."""
    for item in items:
        if isinstance(item, ExitItem) and item.kind == "return":
            return True
        if isinstance(item, AltItem) and (escapes_in(item.then) or escapes_in(item.otherwise)):
            return True
        if isinstance(item, LoopItem) and escapes_in(item.body):
            return True
        if isinstance(item, GuardItem) and (escapes_in(item.body) or escapes_in(item.tail)):
            return True
        if isinstance(item, BlockItem | HoleItem) and item.body and escapes_in(item.body):
            return True
    return False


def called_items(items: list[Item], walker: Walker, site: Site) -> list[Item]:
    """Give items of a callee as seen from the call: nothing to do but keep them (their sites are the callee's own)."""
    return items
