"""One activation of a definition: what its names stand for, and what it has left behind so far."""

from __future__ import annotations

from dataclasses import field

from meshlint.mesh.gate import Expr
from meshlint.protocol.facts import Definition, Node
from meshlint.protocol.items import (
    Item,
)
from meshlint.protocol.values import (
    ClassKey,
    V,
)
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Assumed:
    """Conditions of which not all hold; `tests` are the value numbers that they are made of."""

    parts: tuple[Expr, ...]
    tests: frozenset[int]


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a definition."""

    path: str
    definition: Definition
    env: dict[str, V]
    receiver: V | None = None
    owner: ClassKey | None = None
    parent: Frame | None = None
    returns: list[tuple[Expr, V, Node]] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    cleared: dict[str, int] = field(default_factory=dict)
    """Parameters whose value was reduced in place, and over which dims."""
    waited: set[str] = field(default_factory=set)
    """Parameters that say how far a thread is and that were waited for."""
    assumed: list[Assumed] = field(default_factory=list)
    """What holds behind guards that raise."""
    lazy: bool = False
    turns: list[str] = field(default_factory=list)
    """How the elements hash of what the loops around go through that each rank has in another order."""
    rough: bool = False
    """In the first round of a loop, which only shows what changes: loops inside go round once."""
    asked: set[str] = field(default_factory=set)
    parted: set[str] = field(default_factory=set)
    """Names below which something is bound (`self.rank`, `batch['tokens']`)."""
    joins: set[str] = field(default_factory=set)
    """Paths that may hold joined values."""
    contexts: dict[tuple[str, int], set[object]] = field(default_factory=dict)
    """How each function is called from here."""
    hollow: bool = False
    """Whether it has made a buffer that is not filled."""
    listed: list[int] = field(default_factory=list)
    """The value numbers of lists of ranks from which groups are made."""
    looked_for: list[tuple[V, int, int]] = field(default_factory=list)
    """What was looked for in which list (its value number), and the line."""
    calls: int = 0
    """Through how many calls the events are reached that it has left behind."""
    serial: int = 0
    """Which activation it is: functions defined inside see its variables."""
