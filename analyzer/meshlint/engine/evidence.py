"""Evidence for findings: each is reproduced, and what was seen goes into the report.

A finding of the code side is shown by its own protocol (`Finding.skeleton`), one of a launch by its own sizes on the
smallest mesh that shows it (`Reproducer.own`), where those are known, else by its rule's smallest case. What could not
be shown says so; nothing is told that was not run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import field, replace

from meshlint.engine.reproducers import reproducer_of
from meshlint.engine.ruleset import load
from meshlint.finding import Finding, Outcome, Report
from meshlint.plain import in_source
from meshlint.records import dataclass
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Own, Reproducer, fixed
from meshlint.reproduce.run import Runner
from meshlint.reproduce.verdict import ArmVerdict, CaseVerdict, Verdict

CODE = ("COL", "GRP", "PKD001", "PKD007")
"""Rules of code, whose findings are shown by the calls of the program."""

LARGEST = 8
"""More ranks than this are simulated, whatever depth was asked for."""

FAILS: dict[Outcome, tuple[Happens, ...]] = {
    Outcome.HANG: (Happens.HANG, Happens.MISMATCH, Happens.WRONG, Happens.CRASH),
    Outcome.WRONG: (Happens.WRONG, Happens.HANG, Happens.MISMATCH),
    Outcome.CRASH_LATE: (Happens.MISMATCH, Happens.CRASH),
}
"""What counts as the failure that a finding of the code side states."""

STOPS = (Happens.CRASH, Happens.MISMATCH)
SHOWS: dict[Outcome, tuple[Happens, ...]] = {
    Outcome.HANG: (Happens.HANG, Happens.MISMATCH),
    Outcome.CRASH_START: STOPS,
    Outcome.CRASH_LATE: STOPS,
    Outcome.WRONG: (Happens.WRONG,),
    Outcome.IGNORED: (Happens.OK, Happens.WRONG),
    Outcome.SLOW: (Happens.OK,),
    Outcome.NONE: (Happens.OK,),
}
"""What of a rule's cases shows the very outcome that a finding states."""


@dataclass(slots=True)
class Evidence:
    """Reproduces findings with one runner; rules' own cases are run once."""

    runner: Runner
    depth: Depth | None = None
    tick: Callable[[int, int, str], None] | None = None
    by_rule: dict[str, Verdict] = field(default_factory=dict)

    def of(self, report: Report) -> Report:
        """Give the report with what was seen of every finding that is shown."""
        done: list[Finding] = []
        for place, finding in enumerate(report.findings):
            if self.tick is not None:
                self.tick(place, len(report.findings), finding.code)
            done.append(replace(finding, reproducer="" if finding.suppressed else self.seen(finding)))
        return replace(report, findings=tuple(done))

    def seen(self, finding: Finding) -> str:
        """Say what was seen of one finding; "" where there is nothing to run."""
        if finding.skeleton:
            return self.own(finding)
        reproducer = self.reproducer(finding.code)
        if reproducer is None:
            return ""
        own = own_of(finding, reproducer)
        what = f"the rule's own cases{unsized(reproducer)}" if own is None else own.told
        verdict = self.run(reproducer, reproducer.cases if own is None else own.cases, what, finding.outcome)
        return _of_rule(verdict, what, finding.outcome)

    def reproducer(self, code: str) -> Reproducer | None:
        """Give the reproducer of a rule."""
        rule = next((rule for rule in load() if rule.code == code), None)
        return None if rule is None else reproducer_of(rule)

    def run(self, of: Reproducer, cases: tuple[Case, ...], what: str, outcome: Outcome) -> Verdict:
        """Run those cases that end as a finding states; of its own sizes the others where those cannot be run."""
        key = f"{of.code} {outcome.value} {what}"
        if key not in self.by_rule:
            like = alike(cases, outcome)
            tries = (like, cases) if cases is not of.cases and like != cases else (like,)
            verdicts = (self.ran(replace(of, cases=one)) for one in tries)
            first = next(verdicts)
            self.by_rule[key] = next(verdicts, first) if not first.cases else first
        return self.by_rule[key]

    def ran(self, reproducer: Reproducer) -> Verdict:
        """Run all cases of a reproducer."""
        return self.runner.run(reproducer, self.depth_of(reproducer))

    def own(self, finding: Finding) -> str:
        """Run a finding's own protocol."""
        reproducer = Reproducer(finding.code, (own_case(finding),))
        depth = self.depth_of(reproducer)
        large = reproducer.cases[0].world > LARGEST
        verdict = self.runner.run(reproducer, Depth.SIMULATE if large else depth)
        if not verdict.cases:
            return f"not run at depth {verdict.depth.value}: {verdict.why}"
        return _own(verdict, verdict.cases[0])

    def depth_of(self, reproducer: Reproducer) -> Depth:
        """Give the depth to run at."""
        return self.depth or self.runner.deepest(reproducer)


def own_case(finding: Finding) -> Case:
    """Make the case of a finding's own protocol."""
    made = json.loads(finding.skeleton)
    first, *others = FAILS.get(finding.outcome, (Happens.HANG,))
    also = (*others, *map(Happens, made.get("also", ())))
    failing = Arm(made["failing"], first, also=also)
    more = {name: made[name] for name in ("prelude", "runs") if name in made}
    return Case("own", _says(finding.message), made["world"], failing, fixed(made["fixed"]), **more)


def _says(message: str) -> str:
    """Give the first sentence of a message as plain words, which may stand in any text."""
    first = message.split("\n")[0].partition(". ")[0].rstrip(".")
    return in_source(first).replace("`", "").replace('"', "'").replace("\\", "/")


def _own(verdict: Verdict, case: CaseVerdict) -> str:
    failing, right = case.arms
    if failing.happened is None:
        return f"not run at depth {verdict.depth.value}: {failing.why}"
    where = f"at depth {verdict.depth.value}, by its own calls on {case.world} ranks"
    if not case.shown:
        ends = right.happened.value if right.happened is not None else f"not run: {right.why}"
        return f"not shown {where}: {failing.happened.value}, and the fixed arm is {ends}"
    runs = f", which run {case.case.runs}" if case.case.runs else ""
    seen = _waits(case.case, failing) or _errors(failing, case.case.tolerance)
    return f"{failing.happened.value} {where}{runs}{seen}; ok once its ranks do alike"


def own_of(finding: Finding, reproducer: Reproducer) -> Own | None:
    """Make the cases of a finding's own sizes, or choose those of the rule that are about the same and end alike."""
    own = None if reproducer.own is None else reproducer.own(finding.sizes)
    ends = own is None or not own.chosen or bool(_ending(own.cases, finding.outcome))
    return own if ends else None


def _ending(cases: tuple[Case, ...], outcome: Outcome) -> tuple[Case, ...]:
    like = SHOWS.get(outcome, ())
    return tuple(case for case in cases if any(case.failing.at(depth) in like for depth in case.depths))


def alike(cases: tuple[Case, ...], outcome: Outcome) -> tuple[Case, ...]:
    """Give the cases that fail as a finding states, at some depth; all of them where none does."""
    return _ending(cases, outcome) or cases


def alike_first(cases: tuple[Case, ...], outcome: Outcome) -> tuple[Case, ...]:
    """Order cases: those that fail as a finding states come first."""
    like = alike(cases, outcome)
    return (*like, *(case for case in cases if case not in like))


def unsized(reproducer: Reproducer) -> str:
    """Say why a finding's own sizes were not run."""
    if reproducer.sizeless:
        return f", since {reproducer.sizeless}"
    if reproducer.own is not None:
        return ", since what is known of this launch does not make its own"
    return ", since its own calls make no short program" if reproducer.code.startswith(CODE) else ""


def _of_rule(verdict: Verdict, what: str, outcome: Outcome) -> str:
    command = f"`meshlint reproduce {verdict.code}`"
    if not verdict.cases:
        return f"not run: {verdict.why}"
    if not verdict.shown:
        idle = next((arm for case in verdict.cases for arm in case.arms if arm.happened is None), None)
        if idle is not None:
            return f"not run at depth {verdict.depth.value} by {what}: {idle.why}; see {command}"
        return f"not shown at depth {verdict.depth.value} by {what}; see {command}"
    like = SHOWS.get(outcome, ())
    first = next((case for case in verdict.cases if case.arms[0].happened in like), verdict.cases[0])
    happened = first.arms[0].happened
    assert happened is not None
    seen = _waits(first.case, first.arms[0]) or _errors(first.arms[0], first.case.tolerance)
    runs = f", which run {first.case.runs}" if first.case.runs else ""
    but = "" if happened in like else f"; {_otherwise(outcome, happened)}"
    return f"{happened.value} at depth {verdict.depth.value}, by {what}{runs}{seen}{but} ({command})"


def _otherwise(outcome: Outcome, happened: Happens) -> str:
    """Say how the launch itself ends, where a case shows another outcome than the finding states."""
    if outcome in (Outcome.CRASH_START, Outcome.CRASH_LATE):
        return "the launch itself is stopped by a check, which this case does without"
    if outcome is Outcome.HANG:
        return "the launch itself waits"
    if happened in STOPS:
        return "the launch itself does not meet the check that stops this case"
    return f"the finding states `{outcome.value}`"


def _waits(case: Case, arm: ArmVerdict) -> str:
    """Say who waits where, by the places of the program where the text names them."""
    lines = case.failing.text.split("\n")
    told = []
    for wait in arm.waits[:2]:
        text = lines[wait.line - 1] if 0 < wait.line <= len(lines) else ""
        place = text.rpartition("  # ")[2] if "  # " in text else f"line {wait.line}"
        whom = f" for rank {', '.join(map(str, wait.whom))}" if wait.whom else ""
        told.append(f"rank {wait.rank} waits in {wait.op} ({place}){whom}")
    return ": " + ", ".join(told) if told else ""


def _errors(arm: ArmVerdict, tolerance: float) -> str:
    wrong = [(rank, check) for rank, check in arm.checks if check.error > tolerance]
    if wrong:
        rank, check = max(wrong, key=lambda one: one[1].error)
        return f": {check.name} on rank {rank} is off by {check.error:.3g} (relative)"
    return f": {arm.errors[0].error[:120]}" if arm.errors else ""
