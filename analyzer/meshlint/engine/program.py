"""The seam to the code side: links the program under the given paths and judges it by the rules about source."""

from __future__ import annotations

from meshlint.config.surface import Context
from meshlint.engine.merge import Judged, fingerprint
from meshlint.engine.ruleset import RuleSet
from meshlint.finding import Finding
from meshlint.place import Span
from meshlint.protocol.program import Program
from meshlint.rule import ProgramRule, Verdict
from meshlint.sources.discover import Scope
from meshlint.sources.tree import Unreadable


def check_program(scope: Scope, context: Context, rules: RuleSet) -> list[Judged]:
    """Give the findings of the code side; nothing is read while no rule about source is selected."""
    active = rules.program_rules()
    if not active:
        return []
    program = program_of(scope, context)
    return [_judged(rule, verdict) for rule in active for verdict in rule.check(program)]


def program_of(scope: Scope, context: Context) -> Program:
    """Link every Python file of the tree; those that were asked for are judged."""
    from meshlint.protocol.program import facts_of

    texts: list[tuple[str, str]] = []
    for path in scope.files:
        if path.endswith(".py"):
            try:
                text = context.tree.read(path)
            except Unreadable:
                continue
            texts.append((path, text.text))
    facts = facts_of(texts)
    asked = set(scope.asked)
    for path in sorted(asked & set(facts)):
        note = facts[path].note
        if note.startswith("line "):
            line, _, sentence = note.removeprefix("line ").partition(": ")
            context.problem(Span(path, int(line)), f"it is not Python that can be parsed: {sentence}")
    return Program(tuple(path for path in facts if path in asked), facts)


def _judged(rule: ProgramRule, verdict: Verdict) -> Judged:
    span = verdict.span or Span(".", 1)
    finding = Finding(
        code=rule.code,
        slug=rule.slug,
        severity=verdict.severity or rule.severity,
        confidence=verdict.confidence,
        outcome=verdict.outcome,
        span=span,
        message=verdict.message,
        fingerprint=fingerprint(rule.code, span.path, verdict.scope, verdict.subject),
        related=verdict.related,
        fix=verdict.fix,
    )
    return Judged((rule.code, verdict.subject), finding)
