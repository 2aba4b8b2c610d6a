"""What the facts of the arms show: an outcome for each arm, and whether it is the one that the rule states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from meshlint.reproduce.case import Arm, Case, Depth, Happens
from meshlint.reproduce.facts import ArmFacts, Check, RankFacts

OUTSIDE = (
    "ended by SIGKILL", "ended by SIGTERM", "ended by SIGHUP", "ended by SIGINT", "ended by SIGXCPU",
    "ended by SIGXFSZ", "No space left on device", "Too many open files", "Resource temporarily unavailable",
    "Cannot allocate memory", "can't allocate memory", "out of memory", "MemoryError", "ModuleNotFoundError",
    "ImportError", "Address already in use", "Disk quota exceeded", "File too large", "Read-only file system",
)  # fmt: skip
"""What an error says that comes from the machine or from whoever uses it too, and never from what an arm does."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A rank that waits: in which operation, at which line of the arm, and for whom; nobody if all are there."""

    rank: int
    op: str
    line: int
    ranks: tuple[int, ...]
    whom: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArmVerdict:
    """What became of one arm. `happened` is None for an arm that did not run; `why` then says why."""

    name: str
    expected: Happens
    happened: Happens | None
    shown: bool
    why: str = ""
    waits: tuple[Wait, ...] = ()
    errors: tuple[RankFacts, ...] = ()
    checks: tuple[tuple[int, Check], ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What both arms of a case show."""

    case: Case
    world: int
    arms: tuple[ArmVerdict, ...]

    @property
    def shown(self) -> bool:
        """Say whether the failing arm fails as stated and the fixed one is right."""
        return bool(self.arms) and all(arm.shown for arm in self.arms)

    @property
    def ran(self) -> bool:
        """Say whether some arm ran."""
        return any(arm.happened is not None for arm in self.arms)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reproducer shows at one depth. `why` says why nothing ran."""

    code: str
    depth: Depth
    cases: tuple[CaseVerdict, ...] = ()
    why: str = ""
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Say whether every case is shown; nothing run shows nothing."""
        return bool(self.cases) and all(case.shown for case in self.cases)


def judge(name: str, arm: Arm, facts: ArmFacts, depth: Depth, tolerance: float) -> ArmVerdict:
    """Say what became of an arm and whether the rule states it."""
    expected = arm.at(depth)
    if facts.failure or not facts.ranks:
        return not_run(name, expected, facts.failure or "no rank was started")
    slow = [rank.rank for rank in facts.ranks if rank.state == "running"]
    if slow:  # slow, or without an end of its own: that no rank waits for it shows nothing
        return not_run(
            name, expected, f"rank {slow[0]} was still at work after {facts.seconds:.0f} s, in no collective"
        )
    outside = next((rank for rank in facts.ranks if _outside(rank, arm)), None)
    if outside is not None:
        return not_run(name, expected, f"rank {outside.rank} failed for a reason outside of it: {outside.error[:200]}")
    happened = _happened(facts.ranks, tolerance)
    checks = tuple((rank.rank, check) for rank in facts.ranks for check in rank.checks)
    errors = tuple(rank for rank in facts.ranks if rank.state in ("raised", "died"))
    why = _difference(arm, expected, happened, errors)
    return ArmVerdict(name, expected, happened, not why, why, tuple(_waits(facts.ranks)), errors, checks, facts.seconds)


def _outside(rank: RankFacts, arm: Arm) -> bool:
    """Say whether a rank failed by what the arm neither does nor states; the other ranks' errors may follow from it."""
    if rank.state not in ("raised", "died") or (arm.error and _says(arm, rank)):
        return False
    return any(part in rank.error for part in OUTSIDE)


def _says(arm: Arm, rank: RankFacts) -> bool:
    return any(part in rank.error for part in arm.error.split(" | "))


def not_run(name: str, expected: Happens, why: str) -> ArmVerdict:
    """Make the verdict of an arm that did not run: never shown."""
    return ArmVerdict(name, expected, None, False, why)


def _happened(ranks: Sequence[RankFacts], tolerance: float) -> Happens:
    if any(check.error > tolerance for rank in ranks for check in rank.checks):
        return Happens.WRONG
    if any(rank.clash for rank in ranks):
        return Happens.MISMATCH
    if any(rank.state in ("raised", "died") for rank in ranks):
        return Happens.CRASH
    return Happens.HANG if any(rank.state == "waiting" for rank in ranks) else Happens.OK


def _difference(arm: Arm, expected: Happens, happened: Happens, errors: Sequence[RankFacts]) -> str:
    if happened is not expected and happened not in arm.also:
        return f"the rule states `{expected.value}`, and what happened is `{happened.value}`"
    if arm.error and not any(_says(arm, rank) for rank in errors):
        return f"the error does not say `{arm.error}`"
    return ""


def _waits(ranks: Sequence[RankFacts]) -> Iterator[Wait]:
    for rank in ranks:
        call = rank.call
        if rank.state != "waiting" or call is None:
            continue
        whom = tuple(
            other for other in call.ranks if other != rank.rank and _calls(ranks[other], call.group) <= call.number
        )
        yield Wait(rank.rank, call.op, call.line, call.ranks, whom)


def _calls(rank: RankFacts, group: str) -> int:
    return rank.counts.get(group, 0)


# -- telling ---------------------------------------------------------------------------------------------------------


def to_json(verdict: Verdict, slug: str, version: str) -> dict[str, Any]:
    """Give the verdict as data; an error that is not finite is null."""
    return {
        "meshlint": version,
        "code": verdict.code,
        "slug": slug,
        "depth": verdict.depth.value,
        "shown": verdict.shown,
        "why": verdict.why or None,
        "hardware": dict(verdict.hardware),
        "versions": {name: version for name, version in verdict.versions.items() if version},
        "cases": [_case_json(case) for case in verdict.cases],
    }


def _case_json(case: CaseVerdict) -> dict[str, Any]:
    return {
        "name": case.case.name,
        "says": case.case.says,
        "ranks": case.world,
        "runs": case.case.runs or "the arm's own calls",
        "shown": case.shown,
        "tolerance": case.case.tolerance,
        "arms": [_arm_json(arm) for arm in case.arms],
    }


def _arm_json(arm: ArmVerdict) -> dict[str, Any]:
    return {
        "name": arm.name,
        "expected": arm.expected.value,
        "outcome": None if arm.happened is None else arm.happened.value,
        "shown": arm.shown,
        "why": arm.why or None,
        "seconds": round(arm.seconds, 3),
        "waits": [
            {"rank": w.rank, "op": w.op, "line": w.line, "group": list(w.ranks), "for": list(w.whom)} for w in arm.waits
        ],
        "errors": [{"rank": one.rank, "line": one.line, "text": one.error} for one in arm.errors],
        "values": [
            {
                "rank": rank,
                "line": check.line,
                "name": check.name,
                "value": check.value,
                "right": check.right,
                "relative_error": float(f"{check.error:.3g}") if isfinite(check.error) else None,
            }
            for rank, check in arm.checks
        ],
    }


def text(verdict: Verdict, slug: str) -> Iterator[str]:
    """Give the verdict for people."""
    yield f"{verdict.code} {slug}, depth {verdict.depth.value}" + _where(verdict)
    if verdict.why:
        yield f"  nothing was run: {verdict.why}"
    for case in verdict.cases:
        yield f"  {case.case.name}: {case.case.says}"
        if case.case.runs:
            yield f"    runs {case.case.runs}"
        for arm in case.arms:
            yield from _arm_text(arm, case.case.tolerance, dict(case.case.arms)[arm.name].text.split("\n"))
    yield "  shown" if verdict.shown else "  not shown"


def _where(verdict: Verdict) -> str:
    said = [f"{name} {version}" for name, version in verdict.versions.items() if version and name != "python"]
    cards: Sequence[str] = verdict.hardware.get("gpus", ())
    if verdict.depth is Depth.GPU and cards:
        shared = ", which the ranks share" if verdict.hardware.get("shared") else ""
        said.append(f"{len(cards)} x {cards[0]}{shared}")
    return f" ({', '.join(said)})" if said else ""


def _quoted(lines: Sequence[str], number: int) -> str:
    """Give a line of an arm, since its text is not at hand for the reader; empty where there is none."""
    return f" (`{lines[number - 1].strip()[:90]}`)" if 0 < number <= len(lines) else ""


def _arm_text(arm: ArmVerdict, tolerance: float, lines: Sequence[str]) -> Iterator[str]:
    if arm.happened is None:
        yield f"    {arm.name:8} did not run: {arm.why}"
        return
    mark = "as stated" if arm.shown else arm.why
    yield f"    {arm.name:8} {arm.happened.value} ({mark}; {arm.seconds:.2f} s)"
    for wait in arm.waits:
        whom = f"for rank {_ranks(wait.whom)}" if wait.whom else "although all of its ranks have come"
        at = f"line {wait.line}{_quoted(lines, wait.line)}"
        yield f"      rank {wait.rank} waits at {at} in {wait.op} of ranks {_ranks(wait.ranks)} {whom}"
    for one in arm.errors:
        yield f"      rank {one.rank} at line {one.line}{_quoted(lines, one.line)}: {one.error[:200]}"
    wrong = [(rank, check) for rank, check in arm.checks if check.error > tolerance]
    for rank, check in wrong:
        values = f"{check.name} is {check.value}, right is {check.right}"
        yield f"      rank {rank}: {values} (relative error {check.error:.3g})"
    if arm.checks and not wrong:
        worst = max(check.error for _, check in arm.checks)
        yield f"      values measured: {len(arm.checks)}, the largest relative error {worst:.3g}"


def _ranks(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks))
