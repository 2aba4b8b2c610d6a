"""What was worked out, kept so that no answer hangs on what was asked before.

A function that is being walked is not entered again: an answer that this cuts off holds for as long as the outermost
of what cut it off is walked, and is forgotten then. Nor is one entered too many calls down: such an answer holds so far
down only. Any other is kept for all. What is kept is taken where a walk would find the same, and its work counts there
as if it were done again: once for each root.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from meshlint.place import Span
from meshlint.records import dataclass

TOO_DEEP = 1
"""The bit of what is cut off for being too many calls down."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Something worked out, and the gates with events on both sides that were met on the way."""

    result: Any
    two_sided: frozenset[Span]
    reads: Any = None
    met: int = 0
    """The bits of all that was entered for it."""
    height: int = 0
    """How many calls further down it went."""
    nested: int = 0
    """How many expressions and blocks stood inside of one another."""
    steps: int = 0
    """Statements walked for it alone, without what is kept by itself."""
    placed: int = 0
    """Nodes of callees put into their callers, likewise."""
    below: tuple[Kept, ...] = ()
    """What it was made of."""
    cut: int = 0
    """TOO_DEEP where something of it was."""


@dataclass(slots=True, eq=False)
class Known:
    """What is known of one thing."""

    whole: Kept | None = None
    """What nothing cut off."""
    at: dict[int, Kept] = field(default_factory=dict)
    """What was cut off for being too many calls down, by where it was entered."""
    held: tuple[Kept, int] | None = None
    """What was cut off by something that is being worked out, and the bits of that."""


@dataclass(slots=True, eq=False)
class Trail:
    """What is noted while one thing is worked out; `steps` and `placed` are the work of what is kept by itself."""

    deepest: int = 0
    met: int = 0
    cuts: int = 0
    """The bits of what cut something off."""
    steps: int = 0
    placed: int = 0
    below: list[Kept] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Level:
    """One thing that is being worked out, and the answers that are forgotten at its end."""

    bit: int
    answers: list[Known] = field(default_factory=list)
    met: int = 0


@dataclass(slots=True, eq=False)
class Held:
    """The answers that were cut off by what is being worked out."""

    levels: list[Level] = field(default_factory=list)
    met: int = 0
    """The bits of what there are answers of."""

    def hold(self, known: Known, bit: int, kept: Kept, cuts: int) -> None:
        """Hold an answer until the outermost of what cut it off, or of what it was made of, is at its end."""
        cut = cuts & ~TOO_DEEP
        for level in self.levels:
            if level.bit & cut if cut else level.met & kept.met:
                level.answers.append(known)
                level.met |= bit
                break
        self.met |= bit
        known.held = kept, cuts

    def leave(self) -> None:
        """Forget what was held for the innermost thing that is worked out, which is at its end."""
        level = self.levels.pop()
        if level.answers:
            for known in level.answers:
                known.held = None
            self.met = 0
            for other in self.levels:
                self.met |= other.met

    def forget(self) -> None:
        """Forget all."""
        while self.levels:
            self.leave()


def work_of(kept: Kept, paid: set[Kept]) -> tuple[int, int]:
    """Give the statements and nodes of something and of all it was made of but what is paid for; all is, then."""
    steps = placed = 0
    stack = [kept]
    while stack:
        one = stack.pop()
        if one not in paid:
            paid.add(one)
            steps += one.steps
            placed += one.placed
            stack += one.below
    return steps, placed
