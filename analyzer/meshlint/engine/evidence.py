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
from meshlint.records import dataclass
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Own, Reproducer, fixed
from meshlint.reproduce.run import Runner
from meshlint.reproduce.verdict import ArmVerdict, CaseVerdict, Verdict

LARGEST = 8
"""More ranks than this are simulated, whatever depth was asked for."""

FAILS: dict[Outcome, tuple[Happens, ...]] = {
    Outcome.HANG: (Happens.HANG, Happens.MISMATCH, Happens.WRONG, Happens.CRASH),
    Outcome.WRONG: (Happens.WRONG, Happens.HANG, Happens.MISMATCH),
    Outcome.CRASH_LATE: (Happens.MISMATCH, Happens.CRASH),
}
"""What counts as the failure that a finding of the code side states."""


@dataclass(slots=True)
class Evidence:
    """Reproduces findings with one runner; rules' own cases are run once."""

    runner: Runner
    depth: Depth | None = None
    tick: Callable[[int, int, str], None] | None = None
    by_rule: dict[str, str] = field(default_factory=dict)

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
        own = reproducer.own(finding.sizes) if reproducer is not None and reproducer.own is not None else None
        if own is not None:
            assert reproducer is not None
            return self.sized(reproducer, own)
        if finding.code not in self.by_rule:
            self.by_rule[finding.code] = self.of_rule(reproducer)
        return self.by_rule[finding.code]

    def reproducer(self, code: str) -> Reproducer | None:
        """Give the reproducer of a rule."""
        rule = next((rule for rule in load() if rule.code == code), None)
        return None if rule is None else reproducer_of(rule)

    def sized(self, of: Reproducer, own: Own) -> str:
        """Run the cases that were made of a finding's own sizes; alike launches are run once."""
        key = f"{of.code} {own.told}"
        if key not in self.by_rule:
            reproducer = Reproducer(of.code, own.cases, of.missing)
            verdict = self.runner.run(reproducer, self.depth_of(reproducer))
            self.by_rule[key] = _of_rule(verdict, own.told)
        return self.by_rule[key]

    def own(self, finding: Finding) -> str:
        """Run a finding's own protocol."""
        reproducer = Reproducer(finding.code, (own_case(finding),))
        depth = self.depth_of(reproducer)
        large = reproducer.cases[0].world > LARGEST
        verdict = self.runner.run(reproducer, Depth.SIMULATE if large else depth)
        if not verdict.cases:
            return f"not run at depth {verdict.depth.value}: {verdict.why}"
        return _own(verdict, verdict.cases[0])

    def of_rule(self, reproducer: Reproducer | None) -> str:
        """Run a rule's own cases."""
        if reproducer is None:
            return ""
        verdict = self.runner.run(reproducer, self.depth_of(reproducer))
        return _of_rule(verdict, "the rule's own cases")

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
    plain = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in first)
    return plain.replace("`", "").replace('"', "'").replace("\\", "/")


def _own(verdict: Verdict, case: CaseVerdict) -> str:
    failing, right = case.arms
    if failing.happened is None:
        return f"not run at depth {verdict.depth.value}: {failing.why}"
    where = f"at depth {verdict.depth.value}, by its own calls on {case.world} ranks"
    if not case.shown:
        ends = right.happened.value if right.happened is not None else "not run"
        return f"not shown {where}: {failing.happened.value}, and the fixed arm is {ends}"
    runs = f", which run {case.case.runs}" if case.case.runs else ""
    seen = _waits(case.case, failing) or _errors(failing, case.case.tolerance)
    return f"{failing.happened.value} {where}{runs}{seen}; ok once its ranks do alike"


def _of_rule(verdict: Verdict, what: str) -> str:
    command = f"`meshlint reproduce {verdict.code}`"
    if not verdict.cases:
        return f"not run: {verdict.why}"
    if not verdict.shown:
        return f"not shown at depth {verdict.depth.value} by {what}; see {command}"
    first = verdict.cases[0]
    happened = first.arms[0].happened
    assert happened is not None
    seen = _waits(first.case, first.arms[0]) or _errors(first.arms[0], first.case.tolerance)
    runs = f", which run {first.case.runs}" if first.case.runs else ""
    return f"{happened.value} at depth {verdict.depth.value}, by {what}{runs}{seen} ({command})"


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
