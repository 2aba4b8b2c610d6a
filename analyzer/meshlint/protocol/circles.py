"""Questions whose answers rest on one another: each has one answer, whatever was asked before.

Modules may import from each other in circles, and classes may name each other as bases. A question that leads back to
one that is being answered, or too deep, finds nothing there. What came out under such a cut holds for the question that
was asked first alone; only answers that no cut took part in are kept for all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import TypeVar

from meshlint.records import dataclass

T = TypeVar("T")

MAX_DEPTH = 48
"""How far one question may lead; nobody writes longer chains of imports or classes."""


@dataclass(slots=True)
class Circles:
    """The answers of one program."""

    _whole: dict[Hashable, tuple[object, int]] = field(default_factory=dict)
    """Answers that hold wherever they are asked for, and how deep their questions led."""
    _asked_first: dict[Hashable, object] = field(default_factory=dict)
    """Answers that only hold for who asks for nothing else."""
    _seen: set[Hashable] = field(default_factory=set)
    """What was asked for the question that is answered."""
    _depth: int = 0
    _deepest: int = 0
    _cut: bool = False

    @property
    def idle(self) -> bool:
        """Say whether no question is being answered: what is asked now is asked first."""
        return not self._depth

    def answer(self, key: Hashable, make: Callable[[], T], nothing: T) -> T:
        """Give what `make` gives; `nothing` where that would lead back here, or too deep."""
        known = self._whole.get(key)
        if known is not None and self._depth + known[1] < MAX_DEPTH:
            self._deepest = max(self._deepest, self._depth + known[1])
            return known[0]  # type: ignore[return-value]
        if not self._depth and key in self._asked_first:
            return self._asked_first[key]  # type: ignore[return-value]
        if key in self._seen or self._depth >= MAX_DEPTH:
            self._cut = True
            return nothing
        return self._made(key, make)

    def _made(self, key: Hashable, make: Callable[[], T]) -> T:
        cut, deepest, depth = self._cut, self._deepest, self._depth
        self._seen.add(key)
        self._cut, self._deepest, self._depth = False, depth, depth + 1
        try:
            made = make()
            if not self._cut:
                self._whole[key] = made, self._deepest - depth
            elif not depth:
                self._asked_first[key] = made
            return made
        finally:
            self._cut, self._deepest, self._depth = self._cut or cut, max(self._deepest, deepest), depth
            if not depth:
                self._seen.clear()
                self._cut, self._deepest = False, 0
