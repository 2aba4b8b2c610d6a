"""What could not be read, as findings (MSH003)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from meshlint.config.surface import Context, Problem
from meshlint.engine.merge import Judged
from meshlint.engine.ruleset import RuleSet
from meshlint.finding import Confidence, Finding, Outcome, Severity
from meshlint.sources.discover import Scope

CANNOT_READ = "MSH003"


def problem_findings(context: Context, scope: Scope, rules: RuleSet) -> Iterator[Judged]:
    """Give a finding for each problem: an error for a path that a person named, else a warning."""
    rule = rules.get(CANNOT_READ)
    if rule is None or CANNOT_READ not in rules.selected:
        return
    for problem in dict.fromkeys(context.problems):
        yield Judged((CANNOT_READ, problem.sentence), _finding(problem, problem.span.path in scope.named, rule.slug))


def _finding(problem: Problem, named: bool, slug: str) -> Finding:
    text = f"{CANNOT_READ}\0{problem.span.path}\0{problem.sentence}"
    return Finding(
        code=CANNOT_READ,
        slug=slug,
        severity=Severity.ERROR if named else Severity.WARNING,
        confidence=Confidence.HIGH,
        outcome=Outcome.NONE,
        span=problem.span,
        message=f"This cannot be read, so launches that need it are not judged: {problem.sentence}.",
        fingerprint=hashlib.sha256(text.encode()).hexdigest()[:20],
        rule_url=f"rules/{CANNOT_READ}.md",
    )
