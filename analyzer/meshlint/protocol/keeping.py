"""Working things out, each once: what is known is taken where a walk would find the same, see `kept`.

Everything that is worked out for a root is counted here too, and bounded; known answers count as if they were worked
out for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeVar

from meshlint.place import Span
from meshlint.protocol.kept import TOO_DEEP, Held, Kept, Known, Level, Trail, work_of
from meshlint.protocol.link import Linker
from meshlint.records import dataclass

MAX_CALL_DEPTH = 24
MAX_NESTED = 400
"""Expressions and blocks inside of one another while a root is walked, calls included."""
MAX_STEPS = 40_000
"""Statements walked for one root, calls included; as many for all roots of one file together."""
MAX_PLACED = 80_000
"""Nodes of callees put into their callers, likewise."""

T = TypeVar("T")


class Exhausted(Exception):  # noqa: N818 - a bound, not an error
    """One root took more statements than are allowed."""


@dataclass(slots=True)
class Keeping:
    """What was worked out over the files in scope, and what is being worked out."""

    linker: Linker
    steps: int = 0
    """Statements walked for one root; known answers count as if they were worked out for it."""
    placed: int = 0
    """Nodes of callees put into their callers, likewise."""
    nested: int = 0
    peak: int = 0
    """The most that `nested` was while the present thing is worked out."""
    two_sided: set[Span] = field(default_factory=set)
    """Gates with events on both sides, as they are written, in what was walked last."""
    _kept: dict[object, Known] = field(default_factory=dict)
    _known: dict[object, tuple[Any, Any]] = field(default_factory=dict)
    """What was looked up, with what it rests on."""
    _held: Held = field(default_factory=Held)
    _paid: set[Kept] = field(default_factory=set)
    """The answers that count in `steps`."""
    _numbers: dict[object, int] = field(default_factory=dict)
    """The bit of each thing that was entered."""
    _active: int = 0
    """The bits of what is being worked out."""
    _trail: Trail = field(default_factory=Trail)
    _depth: int = 0

    def spend(self) -> None:
        """Count one statement; raises Exhausted beyond the bound of one root."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Exhausted

    def place(self, nodes: int) -> None:
        """Count the nodes of a callee that is put into its caller; raises Exhausted beyond the bound of one root."""
        self.placed += nodes
        if self.placed > MAX_PLACED:
            raise Exhausted

    def deepen(self) -> None:
        """Note that more things stand inside of one another than before; raises Exhausted beyond the bound.

        Whoever walks something counts it in `nested`, and takes it off at its end.
        """
        self.peak = self.nested
        if self.nested > MAX_NESTED:
            raise Exhausted

    def _begin(self) -> None:
        """Begin with one root."""
        self.steps = self.placed = self._active = self._depth = self.nested = self.peak = 0
        self.two_sided, self._trail = set(), Trail()
        self._held.forget()
        self._paid.clear()

    def _bit(self, what: object) -> int:
        known = self._numbers.get(what)
        if known is None:
            known = self._numbers[what] = TOO_DEEP << (len(self._numbers) + 1)
        return known

    def _may_enter(self, what: object) -> bool:
        """Say whether something may be worked out here: not inside of itself, and not too deep."""
        bit, trail = self._bit(what), self._trail
        if bit & self._active:
            trail.cuts |= bit
            return False
        if self._depth >= MAX_CALL_DEPTH:
            trail.cuts |= TOO_DEEP
            return False
        trail.met |= bit
        trail.deepest = max(trail.deepest, self._depth + 1)
        return True

    def _looked_up(self, key: object, make: Callable[[], T]) -> T:
        """Give what `make` finds without walking, from the table where it is known."""
        known = self._known.get(key)
        if known is None:
            begun = self.linker.begin()
            made = make()
            known = self._known[key] = made, self.linker.end(begun)
        else:
            self.linker.used(known[1])
        result: T = known[0]
        return result

    def _worked_out(self, key: object, what: object, make: Callable[[], T]) -> T:
        """Give what `make` gives, from the table where it is known."""
        result: T = self._answer(key, what, make).result
        return result

    def _answer(self, key: object, what: object, make: Callable[[], Any]) -> Kept:
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = Known()
        kept = self._fitting(known)
        if kept is not None:
            self._pay(kept)
        else:
            kept = self._held_or_anew(known, self._bit(what), make)
        self.two_sided |= kept.two_sided
        return kept

    def _fitting(self, known: Known) -> Kept | None:
        """Give what a walk from here would find too: it meets nothing that is walked or cut off here."""
        kept = known.whole
        if kept is None or self._depth + kept.height > MAX_CALL_DEPTH:
            kept = known.at.get(self._depth)
        return None if kept is None or kept.met & (self._active | self._held.met) else kept

    def _held_or_anew(self, known: Known, bit: int, make: Callable[[], Any]) -> Kept:
        held = known.held
        if held is None:
            return self._anew(known, bit, make)
        kept, trail = held[0], self._trail
        trail.met |= kept.met
        trail.cuts |= held[1] & (self._active | TOO_DEEP)
        self.linker.used(kept.reads)
        return kept

    def _pay(self, kept: Kept) -> None:
        """Take a known answer as if it were worked out here; raises Exhausted where that would."""
        trail = self._trail
        trail.met |= kept.met
        trail.deepest = max(trail.deepest, self._depth + kept.height)
        trail.below.append(kept)
        trail.cuts |= kept.cut
        self.peak = max(self.peak, self.nested + kept.nested)
        self.linker.used(kept.reads)
        if kept not in self._paid:
            steps, placed = work_of(kept, self._paid)
            self.steps += steps
            self.placed += placed
            trail.steps += steps
            trail.placed += placed
        if self.peak > MAX_NESTED or self.steps > MAX_STEPS or self.placed > MAX_PLACED:
            raise Exhausted

    def _anew(self, known: Known, bit: int, make: Callable[[], Any]) -> Kept:
        around, sided = self._trail, self.two_sided
        trail = self._trail = Trail(self._depth)
        self.two_sided = set()
        steps, placed, peak, self.peak = self.steps, self.placed, self.peak, self.nested
        begun = self.linker.begin()
        reads = None
        try:
            with self._inside(bit):
                result = make()
        finally:
            two_sided, self.two_sided, self._trail = frozenset(self.two_sided), sided, around
            nested, self.peak = self.peak - self.nested, max(peak, self.peak)
            reads = self.linker.end(begun)
        steps, placed = self.steps - steps, self.placed - placed
        own = steps - trail.steps, placed - trail.placed
        below = tuple(dict.fromkeys(trail.below))
        height = trail.deepest - self._depth
        kept = Kept(result, two_sided, reads, trail.met | bit, height, nested, *own, below, trail.cuts & TOO_DEEP)
        around.met |= kept.met
        around.cuts |= trail.cuts
        around.deepest = max(around.deepest, trail.deepest)
        if trail.cuts & ~TOO_DEEP or kept.met & self._held.met:
            self._held.hold(known, bit, kept, trail.cuts)
            around.below += below
            around.steps += trail.steps
            around.placed += trail.placed
            return kept
        if kept.cut:
            known.at[self._depth] = kept
        else:
            known.whole = kept
        self._paid.add(kept)
        around.below.append(kept)
        around.steps += steps
        around.placed += placed
        return kept

    @contextmanager
    def _inside(self, bit: int) -> Iterator[None]:
        """Mark something as being worked out."""
        self._active |= bit
        self._depth += 1
        self._trail.deepest = max(self._trail.deepest, self._depth)
        self._held.levels.append(Level(bit))
        try:
            yield
        finally:
            self._active &= ~bit
            self._depth -= 1
            self._trail.cuts &= ~bit
            self._held.leave()
