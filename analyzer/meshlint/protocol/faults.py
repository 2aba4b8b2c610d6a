"""Faults of a program as they are told: what is found in each part of it, and what of that is left together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import Any

from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.told import Places, gathered, spelled

UNFILLED = "|unfilled"
"""How the subject ends of what is told of buffers that nothing fills: where sides differ, that is why."""


@dataclass(frozen=True, slots=True)
class CodeFault:
    """One fault of the program, ready to be told. `subject` and `scope` enter the fingerprint."""

    code: str
    severity: Severity
    confidence: Confidence
    outcome: Outcome
    span: Span
    message: str
    related: tuple[Related, ...]
    subject: str
    scope: str
    skeleton: str = ""
    """Both arms of a program that shows it; see `meshlint.mesh.skeleton`."""
    fix: str = ""
    places: tuple[Span, ...] = ()
    """The lines that its texts tell, as long as they know them; see `meshlint.told`."""


Key = tuple[object, ...]
"""What one finding is about."""


Rank = tuple[int, str, int]
"""Which of several that show the same is told: the one with the fewest calls, then the first in the program."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What was found about a key; no fault where it does not stand."""

    key: Key
    rank: Rank
    fault: CodeFault | None
    absent: frozenset[int] = frozenset()
    """The stages that a key does not reach."""
    through: tuple[Span, ...] = ()
    """The calls by which stages come to what they disagree on."""


@dataclass(slots=True)
class Part:
    """What the roots of some files show."""

    own: list[Standing] = field(default_factory=list)
    stages: list[Standing] = field(default_factory=list)
    omitted: list[CodeFault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Units:
    """What files show, each by itself; and the numbers of the questions that each rests on, if they were noted."""

    parts: dict[str, Part] = field(default_factory=dict)
    asked: dict[str, set[int]] = field(default_factory=dict)
    questions: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(slots=True)
class Switched:
    """What the callers of the functions of each file leave out, and the numbers of the questions it rests on."""

    faults: dict[str, list[CodeFault]] = field(default_factory=dict)
    asked: dict[str, set[int]] = field(default_factory=dict)
    questions: list[tuple[Any, ...]] = field(default_factory=list)


def merged(parts: Iterable[Part]) -> list[CodeFault]:
    """Give what stands after all parts of a program were judged, in order of place."""
    parts = list(parts)
    omitted = [_spelled(fault) for part in parts for fault in part.omitted]
    own = _best(standing for part in parts for standing in part.own)
    shown_there = frozenset(fault.span for fault in own if fault.code == "PKD007")
    asked = [standing for part in parts for standing in part.stages if shown_there.isdisjoint(standing.through)]
    stages = _best(_outermost(asked))
    gone = {_holder(fault) for fault in stages if fault.code == "PKD007"}
    part = {_holder(fault) for fault in stages if fault.code == "COL003"}
    own = [fault for fault in own if not (fault.subject.endswith(UNFILLED) and _holder(fault) in part)]
    told = {_name(fault): fault for fault in own if not (fault.code == "COL003" and _holder(fault) in gone)}
    shown = {(fault.code, _holder(fault)) for fault in told.values()}
    told |= {_name(fault): fault for fault in stages if (fault.code, _holder(fault)) not in shown}
    told |= {_name(fault): fault for fault in omitted}
    grouped = {fault.span for fault in told.values() if fault.code.startswith("GRP")}
    removed = {f.span: f for f in told.values() if f.code.startswith("COL") and f.span in grouped}
    left = [_stranding(fault, removed.get(fault.span)) for fault in told.values() if not _covered(fault, grouped)]
    return sorted(left, key=lambda fault: (fault.span, fault.code, fault.subject))


def _covered(fault: CodeFault, grouped: set[Span]) -> bool:
    return fault.code.startswith("COL") and fault.span in grouped


def _stranding(fault: CodeFault, stuck: CodeFault | None) -> CodeFault:
    """Let a call on the wrong group that only some ranks reach end as that does; `stuck` is what it removes."""
    if fault.code != "GRP003" or stuck is None or stuck.severity is Severity.INFO:
        return fault
    message = f"{fault.message} Not all ranks of the job reach it.\n\n{stuck.message.partition(_PARAGRAPH)[2]}"
    shown = stuck.skeleton or fault.skeleton
    return replace(fault, message=message, outcome=stuck.outcome, skeleton=shown)


_PARAGRAPH = "\n\n"


def _holder(fault: CodeFault) -> tuple[str, str]:
    """Give the function of a fault, which bears its name in its own file alone."""
    return fault.span.path, fault.scope


def _name(fault: CodeFault) -> str:
    return fault.subject + str(fault.span)


def _outermost(standings: list[Standing]) -> Iterator[Standing]:
    """Leave out the callers of a function that shows by itself that a key misses the same stages."""
    known: dict[object, list[Standing]] = {}
    for standing in standings:
        known.setdefault(standing.key[:3], []).append(standing)
    for standing in standings:
        near = known[standing.key[:3]]
        if not any(other.rank[0] < standing.rank[0] and standing.absent <= other.absent for other in near):
            yield standing


def _best(standings: Iterable[Standing]) -> list[CodeFault]:
    """Give the fault of the first of each key, if that one stands."""
    found: dict[Key, Standing] = {}
    for standing in standings:
        known = found.get(standing.key)
        if known is None or standing.rank < known.rank:
            found[standing.key] = standing
    first = sorted(found.values(), key=lambda standing: (standing.rank, str(standing.key)))
    return [_spelled(standing.fault) for standing in first if standing.fault is not None]


def _spelled(fault: CodeFault) -> CodeFault:
    """Give a fault with its lines in digits."""
    if not fault.places:
        return fault
    message, skeleton, fix = (spelled(text, fault.places) for text in (fault.message, fault.skeleton, fault.fix))
    return replace(fault, message=message, skeleton=skeleton, fix=fix, places=())


def settled(fault: CodeFault, places: Places) -> CodeFault:
    """Give a fault the places that its texts tell, of those that were told."""
    texts, own = gathered((fault.message, fault.skeleton, fault.fix), places)
    return replace(fault, message=texts[0], skeleton=texts[1], fix=texts[2], places=own)


def settled_standing(standing: Standing, places: Places) -> Standing:
    """Settle the fault of a standing; a message in its key is told by the same places."""
    if standing.fault is None:
        return standing
    fault = settled(standing.fault, places)
    key: Key = tuple(fault.message if part == standing.fault.message else part for part in standing.key)
    return replace(standing, fault=fault, key=key if key == standing.key else (*key, fault.places))
