"""Findings about meshlint's own work on a tree: unreadable files, and suppressions that do nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlint.config.surface import Problem
from meshlint.engine.merge import Judged, fingerprint
from meshlint.engine.ruleset import RuleSet, page
from meshlint.finding import Confidence, Finding, Fix, Outcome, Severity
from meshlint.place import Span

UNUSED = "MSH001"
BAD = "MSH002"
CANNOT_READ = "MSH003"
_UNREAD = "This cannot be read, and what it would set or start is not judged"
_CODE = "This cannot be read, and its code is not judged"
_PART = "Not all of this is judged"
_MEND = "Mend it, or leave it out: `exclude` in the settings, or `--exclude`."


def problem_findings(problems: Iterable[Problem], named: frozenset[str], rules: RuleSet) -> Iterator[Judged]:
    """Give a finding for each thing that could not be read: an error for a path that a person named, else a warning."""
    for problem in dict.fromkeys(problems):
        severity = Severity.ERROR if problem.span.path in named else Severity.WARNING
        sentence = problem.sentence.rstrip(".")
        what = _PART if problem.bound else _CODE if problem.code else _UNREAD
        message = f"{what}: {sentence}."
        advice = problem.fix or ("" if problem.bound else _MEND)
        fix = Fix(advice) if advice else None
        yield from house_finding(rules, CANNOT_READ, problem.span, message, severity, fix=fix)


def house_finding(
    rules: RuleSet,
    code: str,
    span: Span,
    message: str,
    severity: Severity | None = None,
    subject: str = "",
    fix: Fix | None = None,
) -> Iterator[Judged]:
    """Give one finding, or nothing where its rule is not selected."""
    rule = rules.get(code)
    if rule is None or code not in rules.selected:
        return
    finding = Finding(
        code=code,
        slug=rule.slug,
        severity=severity or rule.severity,
        confidence=Confidence.HIGH,
        outcome=Outcome.NONE,
        span=span,
        message=message,
        fingerprint=fingerprint(code, span.path, message),
        fix=fix,
        rule_url=page(rule),
    )
    yield Judged((code, message, subject), finding)
