"""What a launch card says, as plain values: the config room works it out, reports print it.

An `Item` is one thing that a card tells: its data, or the reason why it is not known. Where open versions of a library
give different data, a line of a card holds an item for each, with the releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from meshlint.finding import Coverage, Finding, LaunchRef
from meshlint.place import Span
from meshlint.records import dataclass

GO = "GO"
NO_GO = "NO-GO"
AS_WRITTEN = "NO-GO as written"
"""No error is found, since something outside the files may say otherwise; what they and their defaults say ends."""
AMISS = "NOT FIT"
"""What a reason holds where numbers are known and do not go together."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a card tells.

    `reason` says why the data is not known, and is empty where it is; `note` how the data comes about; `written` are
    the places that say it; `unless` names what would override it at launch; `versions` the releases that it holds on,
    where others say something else.
    """

    data: Any = None
    reason: str = ""
    note: str = ""
    written: tuple[Span, ...] = ()
    unless: tuple[str, ...] = ()
    versions: str = ""

    @property
    def known(self) -> bool:
        """Say whether there is data."""
        return not self.reason


Line = tuple[Item, ...]
"""A line of a card: one item, or several that hold on different releases."""


@dataclass(frozen=True, slots=True)
class Group:
    """The process groups over some dims: how many of how many ranks, the ranks of the first, and over how many nodes.

    `nodes` is the most that one of them spans, and None where that is not known.
    """

    name: str
    size: int
    count: int
    first: tuple[int, ...]
    nodes: int | None


@dataclass(frozen=True, slots=True)
class Stage:
    """The layers that a pipeline rank holds, one number for each of its model chunks, and what else stands there."""

    chunks: tuple[int, ...]
    beside: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """Give the layers of all chunks."""
        return sum(self.chunks)


@dataclass(frozen=True, slots=True)
class Step:
    """One optimizer step: samples in all, of a micro-batch, replicas, and micro-batches that each of them runs.

    Micro-batches that are cut by tokens have no number of samples, and their `count` hangs on the data; `tokens` is
    then the most that one holds, over all its cp ranks, where that is given. `replicas` is None where dp is not known.
    """

    samples: int
    micro: int | None
    replicas: int | None
    count: int | None
    by_tokens: bool = False
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Pad:
    """A length that has to be a multiple of something: what it is, what it is a multiple of, and what is wanted.

    `given` is None where nothing pads it; `by` says who does, `how` how the wanted multiple comes about.
    """

    what: str
    given: int | None
    wanted: int
    how: str
    by: str = ""
    is_length: bool = False
    """Whether `given` is the length itself, not a multiple to which lengths are padded."""

    @property
    def fits(self) -> bool:
        """Say whether every length is a multiple of what is wanted."""
        return self.given % self.wanted == 0 if self.given is not None else self.wanted == 1


@dataclass(frozen=True, slots=True)
class RoleCard:
    """The card of one role of a launch; launches of one model have a single role without a name.

    `sizes` are the parallel sizes by their short names (tp, cp, dp, pp, vpp, etp, ep, edp), in this order.
    """

    name: str
    ranks: Line
    nodes: Line
    per_node: Line
    sizes: Mapping[str, Line]
    order: Line
    groups: Line
    expert_groups: Line
    stages: Line
    step: Line
    length: Line
    pads: Line

    @property
    def amiss(self) -> str:
        """Say what does not go together, whatever release is used, so that the run ends at start; else empty."""
        lines = (*self.sizes.values(), self.groups, self.expert_groups, self.stages, self.step)
        return next((line[0].reason for line in lines if line and all(AMISS in item.reason for item in line)), "")


@dataclass(frozen=True, slots=True)
class Variant:
    """What the card of a launch says under one choice of its undecided conditions, each as text."""

    where: tuple[str, ...]
    roles: tuple[RoleCard, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A library's releases that are judged, and what says so; `pin` is empty where nothing does."""

    library: str
    releases: str
    pin: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """The card of one launch.

    `findings` are those that count on this launch, `silenced` how many are suppressed or in a baseline; `undecided`
    says why no role is known, where none is.
    """

    launch: LaunchRef
    framework: str
    entry: str
    variants: tuple[Variant, ...]
    findings: tuple[Finding, ...]
    coverage: Coverage
    versions: tuple[Version, ...] = ()
    silenced: int = 0
    undecided: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Give NO-GO where an error is found, NO-GO as written where numbers do not go together, else GO.

        Numbers that fit on some branch of a script let it go.
        """
        if any(finding.severity.value == "error" for finding in self.findings):
            return NO_GO
        misfit = [any(role.amiss for role in variant.roles) for variant in self.variants]
        return AS_WRITTEN if misfit and all(misfit) and not self.silenced else GO

    def verdict_of(self, role: RoleCard) -> str:
        """Give the verdict of one role, by the findings about it and its own numbers."""
        if any(finding.severity.value == "error" for finding in self.about(role)):
            return NO_GO
        return AS_WRITTEN if role.amiss and not self.silenced else GO

    def about(self, role: RoleCard) -> Iterator[Finding]:
        """Give the findings about one role: those that name it, and those that name none."""
        for finding in self.findings:
            roles = self.roles_of(finding)
            if not roles or role.name in roles:
                yield finding

    def roles_of(self, finding: Finding) -> tuple[str, ...]:
        """Name the roles of this launch that a finding is about; none where it is about the launch."""
        return next((launch.roles for launch in finding.launches if launch == self.launch), ())
