"""What a rule is: the public door for our own rules and for anybody's rule pack.

A rule is one small class. Its docstring is its page, its attributes are its entry in `meshlint rules`, SARIF and the
docs, and `check` is a generator of verdicts. A pack names a function in the entry point group `meshlint.rules` that
returns its rule classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from meshlint.config.effective import EffectiveConfig, Unjudged
from meshlint.config.framework import Window
from meshlint.config.launch import Launch
from meshlint.config.value import Value
from meshlint.finding import Confidence, Edit, Fix, Outcome, Related, Severity, Wish
from meshlint.place import Span
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.protocol.change import ProgramChange
    from meshlint.protocol.program import Program

__all__ = [
    "Confidence",
    "Edit",
    "EffectiveConfig",
    "Fix",
    "HouseRule",
    "Launch",
    "LaunchChangeRule",
    "LaunchRule",
    "Outcome",
    "ProgramChangeRule",
    "ProgramRule",
    "Reference",
    "Related",
    "Rule",
    "Severity",
    "Span",
    "Unjudged",
    "Value",
    "Verdict",
    "Window",
    "Wish",
]


@dataclass(frozen=True, slots=True)
class Reference:
    """A source for a claim: an upstream file and line at a tag, an issue, or our own measured evidence."""

    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says about one launch or program.

    `at` is the canonical field at whose written place the fault is to be mended; `span` a place of its own where no
    field has one. `fields` are the others that took part: their written places become related lines. `subject` tells
    apart verdicts of one rule at one place (a key, a communicator); it enters the fingerprint.
    """

    message: str
    outcome: Outcome
    at: str = ""
    fields: tuple[str, ...] = ()
    span: Span | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    confidence: Confidence = Confidence.HIGH
    subject: str = ""
    scope: str = ""
    """The enclosing function of `span`, for the fingerprint."""
    skeleton: str = ""
    """A small program that shows this very fault, in two arms, as `meshlint.mesh.skeleton` writes it."""


class Rule(ABC):
    """A rule's identity. The docstring of a subclass is its page: what it does, why it is bad, example, use instead."""

    code: ClassVar[str]
    slug: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1.0"
    outcomes: ClassVar[tuple[Outcome, ...]]
    windows: ClassVar[tuple[Window, ...]] = ()
    references: ClassVar[tuple[Reference, ...]] = ()
    supersedes: ClassVar[tuple[str, ...]] = ()
    preview: ClassVar[bool] = False
    """Not yet proven on enough real trees: judged only with `--preview` or where it is selected by its code."""

    @classmethod
    def family(cls) -> str:
        """Give the letters of the code: HCP, CTX, COL."""
        return cls.code.rstrip("0123456789")


class LaunchRule(Rule):
    """A rule about the effective config of one role of one launch.

    `frameworks` limits it to those names (empty: all); coverage counts it only there.
    """

    frameworks: ClassVar[tuple[str, ...]] = ()
    every_variant: ClassVar[bool] = False
    """A fault that only some branches of a script have is meant so, and none."""

    @abstractmethod
    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Give a verdict for each fault; touching an unknown field or version ends it (see `EffectiveConfig`)."""


class HouseRule(Rule):
    """A rule about meshlint's own work on a tree (suppressions, unreadable files); the engine itself decides it."""


class ProgramRule(Rule):
    """A rule about Python source, linked."""

    tests: ClassVar[bool] = False
    """Whether it reads tests: they are no part of the program, and are read for such rules alone."""

    @abstractmethod
    def check(self, program: Program) -> Iterator[Verdict]:
        """Give a verdict for each fault of the program."""

    def told(self, program: Program) -> Iterator[Verdict]:
        """Give the faults that the analysis of the program files under this rule's code."""
        for fault in program.faults(self.code):
            yield Verdict(
                fault.message,
                fault.outcome,
                span=fault.span,
                related=fault.related,
                severity=fault.severity,
                confidence=fault.confidence,
                subject=fault.subject,
                scope=fault.scope,
                skeleton=fault.skeleton,
                fix=Fix(fault.fix) if fault.fix else None,
            )


class LaunchChangeRule(Rule):
    """A rule about what a change makes of a launch: judged under `--diff` only, where a launch is there on both sides.

    It is asked only where a changed line holds one of `words`, whatever the case.
    """

    words: ClassVar[tuple[str, ...]] = ()
    frameworks: ClassVar[tuple[str, ...]] = ()
    every_variant: ClassVar[bool] = False

    @abstractmethod
    def check(self, before: EffectiveConfig, after: EffectiveConfig) -> Iterator[Verdict]:
        """Give a verdict for each fault of `after` that comes from the change; places are those of `after`."""


class ProgramChangeRule(Rule):
    """A rule about what a change makes of Python source: judged under `--diff` only."""

    @abstractmethod
    def check(self, change: ProgramChange) -> Iterator[Verdict]:
        """Give a verdict for each fault that the change brings; places are those of the side after it."""
