"""A run done in full: every launch read and judged, suppressed, merged and put into a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path

from meshlint import __version__
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.shapes.source import shapes_of
from meshlint.config.surface import Context, Problem
from meshlint.config.versions import resolve
from meshlint.engine import gather, readers, ruleset, split
from meshlint.engine.cache import folder
from meshlint.engine.house import problem_findings
from meshlint.engine.judge import Ground, Judgement, judge
from meshlint.engine.merge import Judged, merge
from meshlint.engine.options import Options, UsageError
from meshlint.engine.patterns import check_pattern
from meshlint.engine.program import check_program
from meshlint.engine.ruleset import RuleSet
from meshlint.engine.suppress import Suppressions, house_findings
from meshlint.finding import Coverage, Finding, Report
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.rule import LaunchRule, Rule
from meshlint.settings.model import Settings
from meshlint.sources.discover import Scope
from meshlint.sources.search import Search


@dataclass(slots=True)
class Outcome:
    """What judging gathers on its way."""

    judgements: list[Judgement] = field(default_factory=list)
    program: list[Judged] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    code: int = 0
    """Files whose code was judged."""
    concerned: int = 0
    """Those of them with something to judge."""
    entries: list[tuple[gather.Entry, list[Judgement]]] = field(default_factory=list)
    """Every file that launches were read from, with all that is said of them."""


def check_scope(scope: Scope, options: Options) -> tuple[Report, frozenset[str]]:
    """Judge what is in scope; give the report, and every path that was looked at. Raises UsageError."""
    with readers.begin(scope) as begun:
        rules, notes = choose(options)
        context = gather.context_of(scope, options)
        outcome = Outcome(notes=list(notes))
        looked = _check_launches(scope, context, options, rules, outcome, begun)
    program = check_program(scope, context, rules, options.settings.models, options.tick, _cache(options))
    if options.tick is not None:
        options.tick(1, 1, "")
    outcome.program += program.judged
    outcome.failures += program.failures
    outcome.details += program.notes
    outcome.code, outcome.concerned = program.files, program.concerned
    context.problems += program.problems
    return report_of(scope, context, options, rules, outcome), looked | context.tree.looked()


def _cache(options: Options) -> Path | None:
    """Give the folder of the cache, if results are kept."""
    return folder(options.settings.cache_dir, options.settings.base) if options.cache else None


def check_words(words: Sequence[str], scope: Scope, options: Options) -> Report:
    """Judge a command line among the files of a scope. Raises UsageError."""
    rules, notes = choose(options)
    context = gather.context_of(scope, options)
    outcome = Outcome(notes=list(notes))
    active = rules.launch_rules()
    for variants in gather.command_launches(words, context, options, outcome.failures):
        judge_launch(variants, context, active, outcome)
    return report_of(replace(scope, asked=(), named=frozenset()), context, options, rules, outcome)


def choose(options: Options) -> tuple[RuleSet, list[str]]:
    """Choose the rules, by the command line before the settings; the notes say what cancels what."""
    settings = options.settings
    rules = ruleset.load()
    _check_settings(settings, rules)
    select = options.select if options.select is not None else settings.select
    extend = (*settings.extend_select, *options.extend_select)
    try:
        explicit = ruleset.narrow(rules, options.select or (), options.extend_select).selected
        chosen = ruleset.narrow(
            rules, select, extend, (*settings.ignore, *options.ignore), options.preview or settings.preview
        )
    except ruleset.UnknownRule as error:
        raise UsageError(str(error)) from None
    chosen = replace(chosen, narrowed=bool(options.select or options.ignore))
    cancelled = sorted(explicit - chosen.selected) if settings.ignore else []
    notes = [f"{', '.join(cancelled)} was selected, but {settings.file} ignores it"] if cancelled else []
    return chosen, [*notes, *gather.pin_notes(options)]


def _check_settings(settings: Settings, rules: tuple[type[Rule], ...]) -> None:
    """Refuse codes that no rule has, patterns that match nothing, and models of no function; raises UsageError."""
    words: list[tuple[str, str, Sequence[str]]] = [
        ("select", "", settings.select or ()),
        ("extend-select", "", settings.extend_select),
        ("ignore", "", settings.ignore),
        *(("per-file-ignores", pattern, codes) for pattern, codes in settings.per_file_ignores.items()),
    ]
    for key, part, codes in words:
        where = settings.where(key, part)
        if part or key == "per-file-ignores":
            check_pattern(part, where, alone=True)
        try:
            ruleset.codes(rules, codes)
        except ruleset.UnknownRule as error:
            raise UsageError(f"{where}: {error}") from None
    if settings.models:
        _check_models(settings)


def _check_models(settings: Settings) -> None:
    from meshlint.models.entry import ModelError
    from meshlint.protocol.program import user_models

    try:
        user_models(settings.models)
    except ModelError as error:
        raise UsageError(f"{settings.where('models')}: `models`: {error}") from None


@dataclass(slots=True)
class Part:
    """What one process made of its entries: results by the entry's number, and the paths that it looked at."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    problems: dict[int, list[Problem]] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()


def _check_launches(
    scope: Scope, context: Context, options: Options, rules: RuleSet, outcome: Outcome, begun: Search
) -> frozenset[str]:
    """Judge every entry; give the paths that other processes looked at.

    A file that a person named counts for every launch that reads it, wherever that is started.
    """
    if not rules.about_launches():
        return frozenset()
    wide = replace(scope, asked=tuple(sorted({*scope.asked, *readers.readers(scope, context.tree, begun)})))
    entries = list(enumerate(gather.entries(wide, context, outcome.failures, options.tick)))
    active = rules.launch_rules()

    def work(taken: split.Taken[tuple[int, gather.Entry]], here: bool) -> Part:
        return _check_part(taken, context, options if here else replace(options, tick=None), active)

    parts = split.share(entries, work, split.workers(len(entries)))
    asked = frozenset(scope.asked)
    for number, entry in entries:
        part = next(part for part in parts if number in part.outcomes)
        outcome.entries.append((entry, part.outcomes[number].judgements))
        if entry.path in asked:
            outcome.judgements += part.outcomes[number].judgements
            outcome.failures += part.outcomes[number].failures
            context.problems += part.problems[number]
        else:
            outcome.judgements += [j for j in part.outcomes[number].judgements if j.reads & scope.named]
    context.problems += gather.unreadable(scope, context)
    return frozenset().union(*(part.looked for part in parts))


def _check_part(
    taken: split.Taken[tuple[int, gather.Entry]], context: Context, options: Options, rules: Iterable[LaunchRule]
) -> Part:
    done = Part()
    for number, entry in taken:
        if options.tick is not None:
            options.tick(taken.reached, taken.total, entry.path)
        outcome = done.outcomes[number] = Outcome()
        before = len(context.problems)
        for variants in gather.launches(entry, context, options, outcome.failures):
            if options.tick is not None:
                options.tick(taken.reached, taken.total, entry.path)
            judge_launch(variants, context, rules, outcome)
        done.problems[number] = context.problems[before:]
        del context.problems[before:]
    done.looked = context.tree.looked()
    return done


def judge_launch(variants: Sequence[Launch], context: Context, rules: Iterable[LaunchRule], outcome: Outcome) -> None:
    """Judge one launch with all its variants."""
    first = variants[0]
    try:
        model = framework(first.framework)
    except KeyError:
        outcome.failures.append(f"there is no framework `{first.framework}`, which {first.surface} asks for")
        return
    judgement = judge(variants, Ground(model, resolve(first, model, context), shapes_of(context)), rules)
    outcome.judgements.append(judgement)
    outcome.failures += judgement.failures


def report_of(scope: Scope, context: Context, options: Options, rules: RuleSet, outcome: Outcome) -> Report:
    """Put what judging gathered into a report: suppressed, merged and sorted."""
    suppressions = Suppressions(context.tree, rules)
    found = [judged for judgement in outcome.judgements for judged in judgement.judged]
    judged = [*found, *outcome.program, *problem_findings(context.problems, scope.named, rules)]
    judged = [suppressions.apply(one) for one in judged]
    complete = not rules.narrowed and not scope.named and scope.asked == scope.files
    touched = {path for one in outcome.judgements for path in one.reads} | suppressions.files.keys()
    read = sorted(touched & set(scope.asked))
    judged += house_findings(suppressions, read, outcome.judgements, complete)
    kept = _kept(judged, scope, options, rules)
    findings = _settled(merge(kept), context, options, outcome)
    return Report(
        version=__version__,
        findings=tuple(findings),
        coverage=tuple(
            sorted((j.coverage for j in outcome.judgements), key=lambda c: (c.launch.span, c.launch.identity))
        ),
        rules=ruleset.describe(rules.rules),
        notes=(
            *outcome.notes,
            *(_idle_ignores(judged, scope, options, rules) if complete and not outcome.failures else ()),
        ),
        details=tuple(outcome.details),
        files=len(scope.asked),
        code=outcome.code,
        concerned=outcome.concerned,
        left_out=dict(sorted(Counter(rules.left_out.values()).items())),
        dropped=len(merge(judged)) - len(findings) if len(judged) != len(kept) else 0,
        failures=tuple(outcome.failures),
    )


def _settled(findings: list[Finding], context: Context, options: Options, outcome: Outcome) -> list[Finding]:
    """Decide which fixes are safe; most runs have none that could be."""
    if not any(f.fix is not None and (f.fix.safe or f.fix.wishes) for f in findings):
        return findings
    from meshlint.engine.settle import settled

    return list(settled(findings, outcome.entries, context, options))


def _place(coverage: Coverage) -> tuple[Span, str]:
    return (coverage.launch.span, coverage.launch.identity)


def _kept(judged: list[Judged], scope: Scope, options: Options, rules: RuleSet) -> list[Judged]:
    """Leave out what `per-file-ignores` names."""
    table = options.settings.per_file_ignores
    if not table:
        return judged
    tests = [_left_out(pattern, words, scope, options, rules) for pattern, words in table.items()]
    return [one for one in judged if not any(test(one) for test in tests)]


def _left_out(
    pattern: str, words: Sequence[str], scope: Scope, options: Options, rules: RuleSet
) -> Callable[[Judged], bool]:
    """Give the test whether an entry of `per-file-ignores` leaves a finding out."""
    from meshlint.sources.patterns import spec_of

    base = options.settings.base or scope.root
    spec, codes = spec_of([pattern]), ruleset.codes(rules.rules, words)

    def test(one: Judged) -> bool:
        if one.finding.code not in codes:
            return False
        file = scope.root / one.finding.span.path
        relative = file.relative_to(base).as_posix() if file.is_relative_to(base) else one.finding.span.path
        return bool(spec.match_file(relative))

    return test


def _idle_ignores(judged: Sequence[Judged], scope: Scope, options: Options, rules: RuleSet) -> Iterator[str]:
    """Tell of entries of `per-file-ignores` that leave nothing out though all that they name was judged."""
    if not options.settings.per_file_ignores:
        return
    judging = {rule.code for rule in (*rules.launch_rules(), *rules.program_rules())}
    for pattern, words in options.settings.per_file_ignores.items():
        test = _left_out(pattern, words, scope, options, rules)
        if ruleset.codes(rules.rules, words) <= judging and not any(test(one) for one in judged):
            where = options.settings.where("per-file-ignores", pattern)
            yield f"{where}: `per-file-ignores` leaves out nothing of {', '.join(words)} in {pattern}"
