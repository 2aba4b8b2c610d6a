"""What meshlint says: findings, and the diagnostics of its own work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from meshlint.place import Span
from meshlint.records import dataclass


class Severity(str, Enum):
    """How much a finding weighs; the order is that of `rank`."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Give 3 for an error, 2 for a warning, 1 for an info."""
        return {"error": 3, "warning": 2, "info": 1}[self.value]

    def lowered(self) -> Severity:
        """Give the severity one grade below; an info stays an info."""
        return Severity.WARNING if self is Severity.ERROR else Severity.INFO


class Outcome(str, Enum):
    """What happens to the run that is launched all the same."""

    HANG = "hang"
    CRASH_START = "crash-start"
    CRASH_LATE = "crash-late"
    WRONG = "wrong"
    IGNORED = "ignored"
    SLOW = "slow"
    NONE = "none"


class Confidence(str, Enum):
    """How sure the evidence is: every input read, or some of it taken from a table, a name or a default."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Related:
    """A further place that took part, and what it says there."""

    span: Span
    label: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of the text at `span`; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Wish:
    """An edit that hangs on the text around it: what to do about the setting whose value is written at `span`.

    `drop` takes the setting away; `rename` writes `new` for its key; `beside` gives one more setting in the same place,
    `new` with `data`. `key` is the setting's name as the framework spells it, `new` one of the same section.
    """

    kind: str
    span: Span
    key: str
    new: str = ""
    data: tuple[int, ...] | bool = ()


@dataclass(frozen=True, slots=True)
class Fix:
    """How to mend it: always a sentence, and edits where they can be given.

    `safe` says that it is the one way to mend it, and that the edits cannot change what a right launch does. `wishes`
    become edits when the files are at hand, or none; reports never see them.
    """

    description: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False
    wishes: tuple[Wish, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchRef:
    """A launch that a finding breaks: its stable name and the place where it is started.

    `roles` are those of the launch where the finding stands (actor, ref, policy), in the order in which the framework
    has them; empty where a launch has one role, or where no role is meant. They do not tell launches apart.
    """

    identity: str
    span: Span
    roles: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, at the place to edit."""

    code: str
    slug: str
    severity: Severity
    confidence: Confidence
    outcome: Outcome
    span: Span
    message: str
    fingerprint: str
    related: tuple[Related, ...] = ()
    launches: tuple[LaunchRef, ...] = ()
    framework: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions judged, of the libraries that took part: one, or the first and the last of several."""
    pinned: Mapping[str, str] = field(default_factory=dict)
    """Where a library's version is fixed: `requirements.txt:3`, `--pin`, `installed`."""
    given: tuple[str, ...] = ()
    """What a person gave that took part and stands in no file: `--env CP=2: context_parallel_size = 2`."""
    fix: Fix | None = None
    reproducer: str = ""
    """What was seen when its failure was reproduced, or the command that shows it."""
    skeleton: str = ""
    """A program that shows this very finding (see `meshlint.mesh.skeleton`); reports leave it out."""
    sizes: Mapping[str, Any] = field(default_factory=dict)
    """What the launch sets of the fields that reproducers take: numbers, words and lists; reports leave it out."""
    rule_url: str = ""
    suppressed: str = ""
    """The reason given where the finding is suppressed; empty where it is not."""
    baselined: bool = False

    @property
    def counts(self) -> bool:
        """Say whether it is told and decides the exit status: nobody suppressed it, and no baseline holds it."""
        return not self.suppressed and not self.baselined

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Order by place, then code, so that equal input gives equal bytes."""
        return (self.span, self.code, self.message, self.fingerprint)


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A rule that could not be decided for a launch, and the unknown that stopped it."""

    code: str
    field: str
    reason: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far one launch was judged."""

    launch: LaunchRef
    framework: str
    surface: str
    judged: tuple[str, ...]
    not_judged: tuple[NotJudged, ...]
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """What a report says of a rule."""

    code: str
    slug: str
    severity: Severity
    summary: str
    url: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run has to say; reports format it and know nothing else.

    `sources` maps a path, as shown, to the text that was analysed, for snippets and SARIF regions; `notes` are
    sentences about the run itself, for stderr.
    """

    version: str
    findings: tuple[Finding, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    rules: tuple[RuleInfo, ...] = ()
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    code: int = 0
    """Python files whose code was judged."""
    concerned: int = 0
    """Those of them that reach a collective or ask for pipeline stages: where a fault of ranks could be."""
    details: tuple[str, ...] = ()
    """What was not followed in the code, and why; for those who want to know everything."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many rules were not judged for a reason of their own: `preview`, `ignored`, `not selected`."""
    dropped: int = 0
    """Findings that `per-file-ignores` of the settings leaves out."""
    failures: tuple[str, ...] = ()
    """Faults of meshlint itself, one sentence each; the rest of the report stands."""
