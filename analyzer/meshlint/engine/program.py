"""The seam to the code side: links the program under the given paths and judges it by the rules about source.

The program is every Python file of the tree; faults are looked for in the files asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from meshlint.config.surface import Context
from meshlint.engine.gather import Tick
from meshlint.engine.merge import Judged, fingerprint
from meshlint.engine.options import UsageError
from meshlint.engine.ruleset import RuleSet, page
from meshlint.finding import Finding
from meshlint.rule import ProgramRule, Verdict
from meshlint.sources.discover import Scope
from meshlint.sources.tree import Unreadable

if TYPE_CHECKING:
    from meshlint.protocol.program import Program

ENDING = ".py"


@dataclass(slots=True)
class Judgement:
    """What the code side says: findings, rules that failed, and what was not followed."""

    judged: list[Judged] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def check_program(
    scope: Scope, context: Context, rules: RuleSet, models: Sequence[Mapping[str, Any]], tick: Tick | None = None
) -> Judgement:
    """Judge the Python files asked for. Raises UsageError for models of the settings that are wrong."""
    judgement = Judgement()
    active = rules.program_rules()
    paths = tuple(path for path in scope.asked if path.endswith(ENDING))
    if not active or not paths:
        return judgement
    program = _program(paths, context, models, tick)
    for rule in active:
        _check(rule, program, judgement)
    judgement.notes = program.notes
    return judgement


def _program(
    paths: tuple[str, ...], context: Context, models: Sequence[Mapping[str, Any]], tick: Tick | None
) -> Program:
    from meshlint.models.entry import ModelError
    from meshlint.protocol.program import Program, facts_of, user_models

    try:
        rows = user_models(models)
    except ModelError as error:
        raise UsageError(f"`models`: {error}") from None
    return Program(paths, facts_of(_texts(context, tick)), rows)


def _texts(context: Context, tick: Tick | None) -> Iterator[tuple[str, str]]:
    for place, path in enumerate(context.files):
        if tick is not None:
            tick(place, len(context.files), path)
        if path.endswith(ENDING):
            try:
                yield path, context.tree.read(path).text
            except Unreadable:
                continue


def _check(rule: ProgramRule, program: Program, judgement: Judgement) -> None:
    try:
        judgement.judged += [_judged(rule, verdict) for verdict in rule.check(program) if verdict.span is not None]
    except Exception as error:
        if os.environ.get("MESHLINT_DEBUG") == "1":
            raise
        judgement.failures.append(f"{rule.code} failed ({type(error).__name__})")


def _judged(rule: ProgramRule, verdict: Verdict) -> Judged:
    assert verdict.span is not None
    finding = Finding(
        code=rule.code,
        slug=rule.slug,
        severity=verdict.severity or rule.severity,
        confidence=verdict.confidence,
        outcome=verdict.outcome,
        span=verdict.span,
        message=verdict.message,
        fingerprint=fingerprint(rule.code, verdict.span.path, verdict.scope, verdict.subject),
        related=verdict.related,
        fix=verdict.fix,
        rule_url=page(type(rule)),
    )
    return Judged((rule.code, verdict.subject), finding)
