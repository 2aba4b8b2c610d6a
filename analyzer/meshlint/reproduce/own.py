"""A finding's own sizes, on the smallest mesh that shows the same failure.

A size counts by what is left over: 6 heads over 8 ranks fail as 6 over 4 do, and 4,100 tokens as 12. So degrees are
taken from the divisors of the launch's own, the smallest that still fails, and long lengths go down to what has the
same remainder. What was shrunk is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Case, Happens, Own

Sizes = Mapping[str, Any]
MOST = 8
"""Ranks that a shrunk mesh may have."""

WORD_LENGTH = 40
"""Characters of the longest word of a setting that an arm bears."""


def numbers(sizes: Sizes, *names: str) -> tuple[int, ...] | None:
    """Give numbers above 0 by their names; None if one is not known."""
    found = tuple(sizes.get(name) for name in names)
    good = all(isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in found)
    return found if good else None  # type: ignore[return-value]


def word(value: object) -> str:
    """Give a setting's word where it can stand in the text of an arm as it is; "" where it cannot."""
    plain = isinstance(value, str) and value.isascii() and len(value) <= WORD_LENGTH
    return str(value) if plain and all(one.isalnum() or one in "_+-" for one in str(value)) else ""


def smallest(number: int, degree: int, chunks: int = 1) -> int | None:
    """Give the smallest divisor of `degree` above 1 into which, times `chunks`, `number` does not go; at most MOST."""
    ways = (one for one in range(2, min(degree, MOST) + 1) if degree % one == 0)
    return next((one for one in ways if number % (one * chunks)), None)


def short(number: int, unit: int) -> int:
    """Give the smallest number from `unit` on that leaves the same remainder; a number below twice `unit` stays."""
    return number if number < 2 * unit else unit + number % unit


def told(words: Mapping[str, object], shrunk: Mapping[str, tuple[object, object]]) -> str:
    """Say which sizes of the launch were taken, and what was made smaller."""
    taken = ", ".join(f"{name} {value}" for name, value in words.items())
    smaller = [f"{name} {old} to {new}" for name, (old, new) in shrunk.items() if old != new]
    return f"its own sizes ({taken})" + (f", shrunk: {', '.join(smaller)}" if smaller else "")


def divided(
    number: str, degree: str, make: Callable[[int, int], tuple[Case, ...]], chunks: int = 1, *, long: bool = False
) -> Callable[[Sizes], Own | None]:
    """Make what shows that a number does not go into a degree; `make` gets both.

    `long`: the number may be shrunk to one with the same remainder.
    """

    def own(sizes: Sizes) -> Own | None:
        found = numbers(sizes, number, degree)
        if found is None:
            return None
        count, ranks = found
        few = smallest(count, ranks, chunks)
        if few is None:
            return None
        small = short(count, few * chunks) if long else count
        cases = make(small, few)
        return Own(cases, told({number: count, degree: ranks}, {degree: (ranks, few), number: (count, small)}))

    return own


def heads_of(sizes: Sizes) -> tuple[tuple[str, int], ...]:
    """Give what an all-to-all spreads of one tensor-parallel rank: its heads, its groups of keys and values."""
    found = numbers(sizes, "num_attention_heads", "tensor_model_parallel_size")
    if found is None or found[0] % found[1]:
        return ()
    heads, tp = found
    groups = sizes.get("num_query_groups")
    grouped = (("key-value groups of a rank", max(groups // tp, 1)),) if isinstance(groups, int) and groups > 0 else ()
    return (("heads of a rank", heads // tp), *grouped)


def data_parallel(sizes: Sizes) -> int | None:
    """Give the ranks that see samples of their own."""
    found = numbers(
        sizes, "world_size", "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"
    )
    if found is None or found[0] % (found[1] * found[2] * found[3]):
        return None
    return found[0] // (found[1] * found[2] * found[3])


def fewer_together(number: int, degree: int) -> tuple[int, int]:
    """Divide both by what they have in common, as far as the degree stays above 1: what is left over stays in kind."""
    for factor in (7, 5, 3, 2):
        while number % factor == 0 and degree % factor == 0 and degree > factor:
            number, degree = number // factor, degree // factor
    return number, degree


def ranks_left_over(ranks: int, product: int) -> tuple[int, int] | None:
    """Give few ranks that sizes of a product do not divide as they do not divide `ranks`: (ranks, product).

    More ranks than the product go down to what is left over, which is no multiple either. None where they divide, or
    where MOST ranks do not show it.
    """
    if ranks % product == 0:
        return None
    few, small = fewer_together(ranks, product)
    few = few if few <= MOST else few % small
    return (few, small) if few <= MOST else None


def above_one(name: str, cases: tuple[Case, ...], least: int = 2) -> Callable[[Sizes], Own | None]:
    """Make what shows at any degree above 1 alike: the rule's cases, whose degree is `least`."""

    def own(sizes: Sizes) -> Own | None:
        found = numbers(sizes, name)
        if found is None or found[0] < 2:
            return None
        return Own(cases, told({name: found[0]}, {name: (found[0], least)}))

    return own


def of_subject(cases: Sequence[Case], names: Mapping[str, str]) -> Callable[[Sizes], Own | None]:
    """Choose those of a rule's cases that show what a finding is about: `names` gives their name by the field."""

    def own(sizes: Sizes) -> Own | None:
        about = str(sizes.get("subject"))
        chosen = tuple(case for case in cases if case.name == names.get(about))
        return Own(chosen, f"the rule's case of {about}", chosen=True) if chosen else None

    return own


def listed(sizes: Sizes, name: str = "hierarchical_context_parallel_sizes") -> tuple[int, ...]:
    """Give a list of numbers above 0; () where it is not known."""
    data = sizes.get(name)
    if not isinstance(data, (list, tuple)) or not all(isinstance(one, int) and one > 0 for one in data):
        return ()
    return tuple(data)


def levels_alike(levels: Sequence[int]) -> tuple[int, ...] | None:
    """Shrink levels whose number is what counts: those above 1 become 2; None where that takes too many ranks."""
    small = tuple(min(one, 2) for one in levels)
    return small if 1 < prod(small) <= MOST else None


def without_groups(
    name: str, says: str, before: Callable[[int, Sequence[int]], tuple[str, str]] | None = None
) -> Callable[[Sizes], Own | None]:
    """Make what shows a2a+p2p whose groups are not there, over the launch's cp and levels.

    `before` gives the lines that come first in the failing arm, of the stand-in and of the real libraries.
    """

    def own(sizes: Sizes) -> Own | None:
        found = numbers(sizes, "context_parallel_size")
        if found is None or found[0] < 2:
            return None
        (cp,) = found
        levels = _levels(sizes.get("hierarchical_context_parallel_sizes"), cp)
        few = min(cp, 4 if cp % 4 == 0 else next(one for one in range(2, cp + 1) if cp % one == 0))
        if few > MOST:
            return None
        small = _fewer(levels, few)
        failing, right = (
            Setting("a2a+p2p", made, cp=few, seq=4 * few, heads=4 if small[0] in (1, 2, 4) else small[0])
            for made in (None, small)
        )
        if before is not None:
            plain, real = before(few, small)
            failing = replace(failing, before=plain, real_before=real)
        cases = attention_cases(name, says, failing, right, Happens.WRONG)
        words = {"context_parallel_size": cp, **({"levels": list(levels)} if levels else {})}
        shrunk = {"context_parallel_size": (cp, few), **({"levels": (list(levels), list(small))} if levels else {})}
        return Own(cases, told(words, shrunk))

    return own


def _levels(data: object, cp: int) -> tuple[int, ...]:
    levels = listed({"levels": data}, "levels")
    return levels if len(levels) == 2 and prod(levels) == cp else ()


def _fewer(levels: Sequence[int], cp: int) -> tuple[int, int]:
    """Split few ranks over two levels as the launch splits its own: the first level's share, as far as it goes."""
    if not levels:
        return (2, cp // 2) if cp % 2 == 0 else (cp, 1)
    first = next(one for one in range(min(levels[0], cp), 0, -1) if cp % one == 0 and levels[0] % one == 0)
    return first, cp // first
