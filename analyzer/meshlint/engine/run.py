"""A run: from the paths that a person gave to the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from meshlint import __version__
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.versions import resolve
from meshlint.engine import gather, ruleset
from meshlint.engine.judge import judge
from meshlint.engine.merge import Judged, merge
from meshlint.engine.options import Options, UsageError
from meshlint.engine.problems import problem_findings
from meshlint.engine.program import check_program
from meshlint.engine.ruleset import RuleSet
from meshlint.finding import Coverage, Report
from meshlint.rule import LaunchRule
from meshlint.sources.discover import Scope, discover
from meshlint.sources.tree import Unreadable


@dataclass(slots=True)
class Outcome:
    """What judging gathers on its way."""

    judged: list[Judged] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check(paths: Sequence[str], options: Options) -> Report:
    """Judge every launch, and the program, under the given paths. Raises UsageError for what cannot be asked."""
    rules, notes = choose(options)
    scope = scope_of(paths, options)
    context = gather.context_of(scope, options)
    outcome = Outcome(notes=list(notes))
    _check_launches(scope, context, options, rules, outcome)
    check_program(scope, context, rules)
    return _report(scope, context, rules, outcome)


def choose(options: Options) -> tuple[RuleSet, list[str]]:
    """Choose the rules, by the command line before the settings; the notes say what cancels what."""
    settings = options.settings
    rules = ruleset.load()
    select = options.select if options.select is not None else settings.select
    extend = (*settings.extend_select, *options.extend_select)
    try:
        explicit = ruleset.narrow(rules, options.select or (), options.extend_select).selected
        chosen = ruleset.narrow(rules, select, extend, (*settings.ignore, *options.ignore))
    except ruleset.UnknownRule as error:
        raise UsageError(str(error)) from None
    cancelled = sorted(explicit - chosen.selected) if settings.ignore else []
    notes = [f"{', '.join(cancelled)} was selected, but {settings.file} ignores it"] if cancelled else []
    return chosen, notes


def scope_of(paths: Sequence[str], options: Options) -> Scope:
    """Find the files; raises UsageError for a path that does not exist."""
    settings = options.settings
    scope = discover(paths, options.cwd, (*settings.exclude, *options.exclude), settings.base)
    if scope.missing:
        raise UsageError(f"there is no file or folder `{scope.missing[0]}`")
    return scope


def _check_launches(scope: Scope, context: Context, options: Options, rules: RuleSet, outcome: Outcome) -> None:
    entries = gather.entries(scope, context)
    active = rules.launch_rules()
    for number, entry in enumerate(entries):
        if options.tick is not None:
            options.tick(number, len(entries), entry.path)
        for variants in gather.launches(entry, context, options):
            judge_launch(variants, context, active, outcome)
    claimed = {entry.path for entry in entries}
    context.problems += gather.unreadable(scope, context, claimed)


def judge_launch(variants: Sequence[Launch], context: Context, rules: Iterable[LaunchRule], outcome: Outcome) -> None:
    """Judge one launch with all its variants."""
    first = variants[0]
    try:
        model = framework(first.framework)
    except KeyError:
        return
    found, coverage = judge(variants, model, resolve(first, model, context), rules)
    outcome.judged += found
    outcome.coverage.append(coverage)


def _report(scope: Scope, context: Context, rules: RuleSet, outcome: Outcome) -> Report:
    findings = merge([*outcome.judged, *problem_findings(context, scope, rules)])
    return Report(
        version=__version__,
        findings=tuple(findings),
        coverage=tuple(sorted(outcome.coverage, key=lambda c: (c.launch.span, c.launch.identity))),
        rules=ruleset.describe(rules.rules),
        notes=tuple(outcome.notes),
        sources=dict(_sources(context, findings)),
        files=len(scope.asked),
        failures=tuple(outcome.failures),
    )


def _sources(context: Context, findings: Iterable[object]) -> Iterable[tuple[str, str]]:
    from meshlint.finding import Finding

    wanted = set()
    for finding in findings:
        assert isinstance(finding, Finding)
        wanted |= {finding.span.path, *(r.span.path for r in finding.related)}
    for path in sorted(wanted):
        try:
            yield path, context.tree.read(path).text
        except Unreadable:
            continue


def check_command(words: Sequence[str], options: Options) -> Report:
    """Judge the command that a person is about to start, in this environment."""
    raise UsageError("no reader of commands is installed yet")
