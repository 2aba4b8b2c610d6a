"""What a run of the simulation says, and how to simulate: the data that blame, pairing and drawings read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshlint.mesh.dims import Mesh
from meshlint.mesh.gate import Expr
from meshlint.mesh.group import Group
from meshlint.mesh.term import Alt, Exit, Gate, Loop, Op
from meshlint.records import dataclass

RUN_CAP = 512
"""How many combinations of decisions one mesh may ask for."""


@dataclass(frozen=True, slots=True)
class Event:
    """What one rank did on a group: the operation, the instance, and how it ended.

    `number` counts the matched operations of the instance from 0, -1 if it never matched.
    """

    op: Op
    rank: int
    members: tuple[int, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Stuck:
    """An instance that can never fire.

    `arrived`: (rank, operation) of each member that stands at the instance, in rank order. `missing`: the members that
    never come. `how`: `wait` (members are missing), `clash` (heads differ), `root` (the root is no member).
    """

    group: Group
    members: tuple[int, ...]
    arrived: tuple[tuple[int, Op], ...]
    missing: tuple[int, ...]
    how: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One decided fact: the atom, the setting of coordinates it holds for, its value, and the ranks that asked."""

    atom: Expr
    setting: tuple[int, ...]
    value: Any
    asked: tuple[int, ...]

    @property
    def key(self) -> tuple[int, tuple[int, ...]]:
        """What tells facts apart."""
        return (self.atom.id, self.setting)


@dataclass(frozen=True, slots=True)
class Taken:
    """A branch or loop that a rank came to: the node and the value of its condition or trip."""

    node: Alt | Loop
    value: Any

    @property
    def gate(self) -> Gate:
        """The statement."""
        return self.node.gate


@dataclass(frozen=True, slots=True)
class Run:
    """One run of all ranks. `stuck` is empty exactly if every rank came to its end with nothing left unmatched."""

    mesh: Mesh
    stuck: tuple[Stuck, ...]
    events: tuple[tuple[Event, ...], ...]
    paths: tuple[tuple[Taken, ...], ...]
    choices: tuple[Choice, ...]
    left: tuple[Exit | None, ...]
    slots: tuple[Mapping[str, Any], ...]
    excluded: bool
    """The run tells nothing: a rank raised an error on an outside fact, or something unknown took part."""

    @property
    def safe(self) -> bool:
        """Whether the run shows that these choices are fine."""
        return not self.stuck and not self.excluded

    @property
    def fails(self) -> bool:
        """Whether the run shows a deadlock."""
        return bool(self.stuck) and not self.excluded


@dataclass(frozen=True, slots=True)
class Options:
    """How to simulate: whether local facts are free for each rank, whether async operations block, what is forced.

    `forced` maps the identity of a gate (`gate_key`) to the side that all ranks take, or the trip of a loop. `shared`
    holds the ids of facts that every rank has asked for before: as contracts they are no way out. Without `adversaries`
    a fault must be there whatever unknown functions of coordinates are: some choice of them being safe is enough.
    """

    free_locals: bool = False
    strict_async: bool = False
    forced: tuple[tuple[object, Any], ...] = ()
    shared: frozenset[int] = frozenset()
    run_cap: int = RUN_CAP
    adversaries: bool = True
    lone: bool = False
    """Whether an unknown fact that some ranks alone ask for is no way out: see `alone`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the simulation says: `run` is the refuting run, or None; `known` is False where a bound was reached."""

    run: Run | None
    known: bool
    runs: int = 0
    mesh: Mesh | None = None
    doubtful: bool = False
    """The fault needs two or more outside facts that all ranks know to differ: they may be one fact."""
    lone: bool = False
    """There would be a fault if an unknown fact that some ranks alone ask for were no way out."""

    @property
    def safe(self) -> bool:
        """Whether every mesh was judged and none shows a fault."""
        return self.known and self.run is None


def gate_key(node: Alt | Loop) -> object:
    """Give what tells gates apart: the places of the statement and of its callers, and its condition."""
    condition = node.condition if isinstance(node, Alt) else node.trip
    return (node.gate.site.key, condition.id)
