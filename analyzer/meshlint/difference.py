"""What differs between two launches, as plain values: the engine works it out, reports print it."""

from __future__ import annotations

from meshlint.finding import Finding, LaunchRef
from meshlint.place import Span
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Changed:
    """A setting that differs: each side's value as text, and where it is written there."""

    name: str
    before: str
    after: str
    before_at: Span | None = None
    after_at: Span | None = None

    @property
    def is_written(self) -> bool:
        """Say whether either side writes it, as opposed to a default that is another."""
        return self.before_at is not None or self.after_at is not None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a difference comes to: a matter of the launch card on both sides, and what to make of it."""

    what: str
    before: str
    after: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RoleDifference:
    """What differs in one role: its canonical fields, and what they come to; `only` is the side that alone has it."""

    name: str
    fields: tuple[Changed, ...] = ()
    meaning: tuple[Meaning, ...] = ()
    only: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two launches that belong together, and what differs.

    `launch` is what is started and where (entry, framework, nodes, versions, environment), `others` the framework's own
    settings that no canonical field reads, those that are written first. `verdicts` are those of both cards.
    """

    before: LaunchRef
    after: LaunchRef
    verdicts: tuple[str, str]
    launch: tuple[Changed, ...] = ()
    roles: tuple[RoleDifference, ...] = ()
    others: tuple[Changed, ...] = ()
    appear: tuple[Finding, ...] = ()
    disappear: tuple[Finding, ...] = ()

    @property
    def same(self) -> bool:
        """Say whether nothing differs."""
        told = any(role.fields or role.meaning or role.only for role in self.roles)
        return not (told or self.launch or self.others or self.appear or self.disappear)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that a comparison has to say: launches in pairs, and those that one side alone has.

    `apart` are findings of the second side alone that stand on no launch, such as one that cannot be read.
    """

    before: str
    after: str
    pairs: tuple[Difference, ...] = ()
    only_before: tuple[LaunchRef, ...] = ()
    only_after: tuple[LaunchRef, ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    apart: tuple[Finding, ...] = ()
