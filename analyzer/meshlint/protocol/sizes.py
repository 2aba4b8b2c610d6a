"""Numbers of elements that a program computes: when two of them surely differ, whatever the settings in them are.

A size is kept where it is a sum of products of whole numbers, settings and values of which no more is known than that
they are the same on both sides. Two sizes differ where one is the other and more (`n` and `n + 1`, `layers` and
`layers + extra`): sizes that share nothing may be one size by two names.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from meshlint.mesh.gate import Expr, Origin, Values

MAX_TERMS = 6
"""Products in one size."""
MAX_CASES = 6
"""Sizes that one buffer may have, by conditions."""

Size = dict[tuple[int, ...], int]
"""How often each product of values is in it, by the ids of the values; the empty product is 1."""


def size_of(values: Values, shape: list[Expr]) -> Expr | None:
    """Give the number of elements of a shape; None where it is not computed from numbers that are known alike."""
    many = values.lit(1)
    for length in (_counted(values, length) for length in shape):
        if length.op == "lit" and type(length.args[0]) is not int:
            return None
        many = values.arithmetic("*", many, length) if many.op != "lit" or many.args[0] != 1 else length
    return many if many.op == "lit" or next(cases(many), None) is not None else None


def _counted(values: Values, length: Expr) -> Expr:
    """Take facts of which no more is known for numbers."""
    if length.op == "ite":
        condition, then, otherwise = length.args
        return values.choose(condition, _counted(values, then), _counted(values, otherwise))
    if length.op != "atom" or length.args[2]:
        return length
    return values.atom(length.args[0], length.args[1], var=length.var, count=True, weak=length.weak)


def cases(many: Expr) -> Iterator[Size]:
    """Give the sizes that a number may be, as sums of products; nothing where one of them is no such sum."""
    found = _cases(many)
    yield from found or ()


def _cases(many: Expr) -> list[Size] | None:
    if many.op == "lit":
        return [{(): many.args[0]}] if type(many.args[0]) is int else None
    if many.op == "atom":
        plain = many.args[2] and not many.var and many.args[1] in (Origin.CONFIG, Origin.UNKNOWN)
        return [{(many.id,): 1}] if plain else None
    if many.op in ("extent", "size"):
        return [{(many.id,): 1}]
    if many.op == "ite":
        then, otherwise = _cases(many.args[1]), _cases(many.args[2])
        return None if then is None or otherwise is None else _few(then + otherwise)
    if many.op not in ("+", "-", "*"):
        return None
    left, right = _cases(many.args[0]), _cases(many.args[1])
    if left is None or right is None or len(left) * len(right) > MAX_CASES:
        return None
    make = _product if many.op == "*" else _sum
    return _few([make(one, other, -1 if many.op == "-" else 1) for one in left for other in right])


def _few(found: list[Size]) -> list[Size] | None:
    return found if len(found) <= MAX_CASES and all(len(size) <= MAX_TERMS for size in found) else None


def _sum(one: Size, other: Size, sign: int) -> Size:
    found = {product: one.get(product, 0) + sign * other.get(product, 0) for product in {**one, **other}}
    return {product: many for product, many in found.items() if many}


def _product(one: Size, other: Size, sign: int) -> Size:
    found: Size = {}
    for first, many in one.items():
        for second, more in other.items():
            product = tuple(sorted((*first, *second)))
            found[product] = found.get(product, 0) + many * more
    return {product: many for product, many in found.items() if many}


def told_apart(many: Expr) -> tuple[bool, bool]:
    """Say whether all unequal sizes that a number may be surely differ, and whether they do so for any settings."""
    found = list(cases(many))
    pairs = [(one, other) for one, other in combinations(found, 2) if one != other]
    if not pairs or not all(_grown(one, other) or _grown(other, one) for one, other in pairs):
        return False, False
    return True, all(set(_sum(one, other, -1)) == {()} for one, other in pairs)


def _grown(less: Size, more: Size) -> bool:
    """Say whether a size is another one and more."""
    return bool(less) and all(more.get(product, 0) >= many > 0 for product, many in less.items())
