"""The seam to the code side: links the program under the given paths and judges it by the rules about source.

The program is every Python file of the tree but tests that no other file imports; faults are looked for in the files
asked for.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshlint.config.surface import Context, Problem
from meshlint.engine import split
from meshlint.engine.gather import Tick
from meshlint.engine.merge import Judged, fingerprint
from meshlint.engine.options import UsageError
from meshlint.engine.program_unread import unread
from meshlint.engine.ruleset import RuleSet, page
from meshlint.finding import Finding
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.rule import ProgramChangeRule, ProgramRule, Verdict
from meshlint.sources.discover import Scope
from meshlint.sources.tree import Tree, Unreadable

if TYPE_CHECKING:
    from meshlint.protocol.faults import Units
    from meshlint.protocol.program import Program
    from meshlint.protocol.summary import Engine

ENDING = ".py"
LEAST = 16
"""Files below which one process judges all."""


@dataclass(slots=True)
class Judgement:
    """What the code side says: findings, rules that failed, and what was not followed."""

    judged: list[Judged] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: int = 0
    """Files whose code was judged."""
    concerned: int = 0
    """Those of them with something to judge: a collective that they reach, or a question for pipeline stages."""


def check_program(
    scope: Scope,
    context: Context,
    rules: RuleSet,
    models: Sequence[Mapping[str, Any]],
    tick: Tick | None = None,
    place: Path | None = None,
) -> Judgement:
    """Judge the Python files asked for; `place` is the folder of the cache, None for none.

    Raises UsageError for models of the settings that are wrong.
    """
    judgement = Judgement()
    active = rules.program_rules()
    files = scope.asked if scope.code is None else scope.code
    paths = tuple(path for path in files if path.endswith(ENDING))
    if not active or not paths:
        return judgement
    with _rare_collections():
        program = _program(paths, context, models, place, tick, any(rule.tests for rule in active))
        _judge(program, active, judgement)
    told = dict(unread(paths, program, context))
    judgement.problems = tuple(told.values())
    judgement.notes = tuple(note for note in judgement.notes if note not in told)
    judgement.files = sum(path in program.facts and not program.unread(path) for path in paths)
    lines: dict[str, list[str]] = {}
    judgement.judged = [replace(one, finding=_placed(one.finding, context.tree, lines)) for one in judgement.judged]
    return judgement


def _placed(finding: Finding, tree: Tree, lines: dict[str, list[str]]) -> Finding:
    """Let what is told of a bare line, as of a `return`, speak of the statement there; `lines` keeps texts read."""
    related = tuple(replace(one, span=_statement(one.span, tree, lines)) for one in finding.related)
    return replace(finding, span=_statement(finding.span, tree, lines), related=related)


def _statement(span: Span, tree: Tree, lines: dict[str, list[str]]) -> Span:
    if span != Span(span.path, span.line):
        return span
    if span.path not in lines:
        try:
            lines[span.path] = tree.read(span.path).text.split("\n")
        except Unreadable:
            lines[span.path] = []
    known = lines[span.path]
    return span if span.line > len(known) else widened(span, known[span.line - 1])


def widened(span: Span, text: str) -> Span:
    """Give the stretch of a line that is no indentation, and no comment where it is plain that it is one."""
    start = len(text) - len(text.lstrip())
    code, mark, _ = text.partition("#")
    end = len((text if not mark or "'" in code or '"' in code else code).rstrip())
    return Span(span.path, span.line, start + 1, span.line, end + 1) if end > start else span


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage in circles less often: each time looks through all that lives long, and that is much here."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _judge(program: Program, active: Sequence[ProgramRule], judgement: Judgement) -> None:
    for rule in active:
        _check(rule, program, judgement)
    judgement.notes = program.notes
    judgement.concerned = program.concerned


def _program(
    paths: tuple[str, ...],
    context: Context,
    models: Sequence[Mapping[str, Any]],
    place: Path | None,
    tick: Tick | None,
    with_tests: bool,
) -> Program:
    from meshlint.engine.program_facts import facts_of_program
    from meshlint.models.entry import ModelError
    from meshlint.protocol.heads import without_facts
    from meshlint.protocol.program import Program, user_models

    try:
        rows = user_models(models)
    except ModelError as error:
        raise UsageError(f"`models`: {error}") from None
    python = [path for path in context.files if path.endswith(ENDING)]
    facts, tests = facts_of_program(python, context, place, tick, with_tests)
    memory = None
    if place is not None:
        from meshlint.engine.program_verdicts import Verdicts, store_file

        memory = Verdicts(store_file(place, context.tree.root, rows), facts)
    return Program(
        paths,
        facts,
        rows,
        _spread,
        memory,
        {path: facts.head(path) for path in facts},
        facts.with_read(tests) if with_tests else {},
        {path: tests.head(path) if with_tests or path in context.named else without_facts() for path in tests},
    )


def _spread(paths: Sequence[str], engine: Engine, work: Callable[[Iterable[str], bool], Units]) -> list[Units]:
    """Judge the files in several processes; those that call the same functions stay together."""
    number = split.workers(len(paths), LEAST)
    if number == 1:
        return split.share_parts([paths], work)
    from meshlint.engine.program_split import divided

    return split.share_parts(divided(paths, engine, number), work)


def _check(rule: ProgramRule, program: Program, judgement: Judgement) -> None:
    try:
        judgement.judged += [judged_of(rule, verdict) for verdict in rule.check(program) if verdict.span is not None]
    except Exception as error:
        if os.environ.get("MESHLINT_DEBUG") == "1":
            raise
        judgement.failures.append(f"{rule.code} failed ({type(error).__name__})")


def judged_of(rule: ProgramRule | ProgramChangeRule, verdict: Verdict) -> Judged:
    """Make a finding of a verdict, which has a place."""
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
        skeleton=verdict.skeleton,
        rule_url=page(type(rule)),
    )
    return Judged((rule.code, verdict.subject), finding)
