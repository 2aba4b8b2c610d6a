"""What a rule states beside itself: the cases that show its failure, each with a failing and a fixed arm.

An arm is the text of a program in plain torch.distributed, run by every rank. The same text is run without torch
(`pretend`), on gloo and on NCCL (`worker`), and written for people (`script`). Beside `torch` and `dist` it reads
`rank` and `world`, and two helpers: `groups(lists)` makes the process groups of `lists` and gives this rank's own, and
`check(name, value, right)` measures a value against what a right program has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Depth(str, Enum):
    """How a reproducer runs: without torch, on gloo, on NCCL with one process a GPU."""

    SIMULATE = "simulate"
    CPU = "cpu"
    GPU = "gpu"


DEPTHS = tuple(Depth)
"""All depths, shallow first."""


class Happens(str, Enum):
    """What becomes of an arm."""

    OK = "ok"
    HANG = "hang"
    CRASH = "crash"
    WRONG = "wrong-values"
    MISMATCH = "mismatch"
    """Sides that differ in kind, size or type: what becomes of it is for the backend to say."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One program and what must become of it.

    `by_depth` says where a depth differs; `error` is a part of the message that a crash must bear, or several apart by
    ` | ` where releases word it differently. `also` may become of it too: what follows decides, or the backend.
    """

    text: str
    happens: Happens
    by_depth: Mapping[Depth, Happens] = field(default_factory=dict)
    error: str = ""
    also: tuple[Happens, ...] = ()

    def at(self, depth: Depth) -> Happens:
        """Give what must happen at a depth."""
        return self.by_depth.get(depth, self.happens)


def fixed(text: str) -> Arm:
    """Make the arm that must be right."""
    return Arm(text, Happens.OK)


@dataclass(frozen=True, slots=True)
class Case:
    """One failure, on the smallest mesh that shows it.

    `world` counts ranks. Of the cases of one name the first counts that has the depth asked for and whose `needs`,
    Python modules, can be imported, in the `releases` (specifiers, as of requirements) that show it. `prelude` is what
    both arms begin with; `runs` names whose code runs where that is not the arm's alone. `tolerance` is the largest
    relative error of a right value. `scales`: the arms run on more ranks too. `alike`: an error comes to all ranks
    alike, before anything was sent, so that they can go on; `fresh`: each arm wants processes of its own.
    """

    name: str
    says: str
    world: int
    failing: Arm
    fixed: Arm
    depths: tuple[Depth, ...] = DEPTHS
    needs: tuple[str, ...] = ()
    releases: Mapping[str, str] = field(default_factory=dict)
    prelude: str = ""
    runs: str = ""
    tolerance: float = 1e-5
    scales: bool = False
    alike: bool = False
    fresh: bool = False
    source: str = ""

    @property
    def arms(self) -> tuple[tuple[str, Arm], ...]:
        """Give both arms by name, the failing one first."""
        return (("failing", self.failing), ("fixed", self.fixed))


@dataclass(frozen=True, slots=True)
class Own:
    """The cases of one finding: the first whose library is there counts. `told` names its sizes and what was shrunk.

    `chosen`: they are those of the rule that are about the same setting.
    """

    cases: tuple[Case, ...]
    told: str
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Reproducer:
    """Everything that shows one rule."""

    code: str
    cases: tuple[Case, ...]
    missing: str = ""
    """Why there is no case at some depths, in a sentence."""
    own: Callable[[Mapping[str, Any]], Own | None] | None = None
    """Makes the cases of one finding from the sizes of its launch (`Finding.sizes`); None where they do not suffice."""
    sizeless: str = ""
    """Why a finding gets the rule's own cases: the rest of a sentence that begins with "since"."""

    def depths(self) -> tuple[Depth, ...]:
        """Give the depths that have a case, shallow first."""
        return tuple(depth for depth in DEPTHS if any(depth in case.depths for case in self.cases))

    def names(self) -> tuple[str, ...]:
        """Give the names of the cases, in order."""
        return tuple(dict.fromkeys(case.name for case in self.cases))
