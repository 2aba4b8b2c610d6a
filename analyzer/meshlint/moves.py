"""What changes verdict where a library's version moves, as plain values: the engine works it out, reports print it."""

from __future__ import annotations

from meshlint.finding import Finding, Report
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Move:
    """A library that moves: the release that it moves to, and what it was before.

    `before` gives each version or range that was judged, and in how many launches; `elsewhere` counts the launches
    whose framework does not use the library.
    """

    library: str
    release: str
    before: tuple[tuple[str, int], ...]
    elsewhere: int = 0
    along: bool = False
    """Nobody moved it: one that moves brings it along."""

    @property
    def moves(self) -> bool:
        """Say whether any launch would run on another version than now."""
        return any(version != self.release for version, _ in self.before)


@dataclass(frozen=True, slots=True)
class Turned:
    """A finding that stands before and after, and says something else: graver, milder, or with another outcome."""

    before: Finding
    after: Finding

    @property
    def graver(self) -> bool:
        """Say whether it weighs more than before."""
        return self.after.severity.rank > self.before.severity.rank


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What changes verdict; the findings of `report`, that of the moved pins, are the new ones and the graver ones."""

    moves: tuple[Move, ...]
    new: tuple[Finding, ...]
    turned: tuple[Turned, ...]
    gone: tuple[Finding, ...]
    unchanged: tuple[Finding, ...]
    report: Report
