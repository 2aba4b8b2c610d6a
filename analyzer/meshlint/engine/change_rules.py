"""The rules that judge a change itself, with both of its sides at hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from packaging.version import Version

from meshlint.config.effective import Fork, Unjudged
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.shapes.source import shapes_of
from meshlint.config.surface import Context
from meshlint.config.versions import resolve
from meshlint.engine import gather, readers
from meshlint.engine.judge import MAX_FORKS, Ground, Trial, findings_of, hit_of
from meshlint.engine.merge import Judged, merge
from meshlint.engine.options import Options
from meshlint.engine.program import judged_of
from meshlint.engine.ruleset import RuleSet
from meshlint.engine.suppress import Suppressions
from meshlint.engine.whole import _kept as kept
from meshlint.engine.whole import choose
from meshlint.finding import Finding
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.rule import LaunchChangeRule, ProgramChangeRule
from meshlint.sources.discover import Scope
from meshlint.sources.patch import FileChange, Patch
from meshlint.sources.tree import Unreadable

if TYPE_CHECKING:
    from meshlint.protocol.change import ChangedFile
    from meshlint.protocol.facts import FileFacts

ENDING = ".py"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a change: what is in scope, and what its readers share."""

    scope: Scope
    context: Context


@dataclass(frozen=True, slots=True)
class Sides:
    """A change, and the scopes to judge on each side."""

    before: Scope
    after: Scope
    patch: Patch


def with_changes(others: Iterable[Finding], sides: Sides, options: Options, failures: list[str]) -> list[Finding]:
    """Add to the findings of a change what the selected rules about changes say; faults of a rule go to `failures`."""
    rules, _ = choose(options)
    found = _found(rules, sides, options, failures)
    return joined(others, found, {rule.code: frozenset(rule.supersedes) for rule in rules.rules})


def _found(rules: RuleSet, sides: Sides, options: Options, failures: list[str]) -> list[Finding]:
    launch_rules, program_rules = rules.change_rules()
    options = replace(options, tick=None)
    now = Side(sides.after, gather.context_of(sides.after, options))
    found = [*_program(program_rules, sides, now, failures)]
    asked = [rule for rule in launch_rules if _speaks(rule, sides.patch)]
    if asked:
        before = Side(sides.before, gather.context_of(sides.before, options))
        found += _launches(asked, before, now, sides.patch, options, failures)
    suppressions = Suppressions(now.context.tree, rules)
    return merge(kept([suppressions.apply(one) for one in found], sides.after, options, rules))


def _speaks(rule: LaunchChangeRule, patch: Patch) -> bool:
    """Say whether a changed line holds a word that the rule asks for."""
    return any(
        word in line.lower()
        for change in patch.files
        for _, now, before in change.undo
        for line in {*now} ^ {*before}
        for word in rule.words
    )


# -- Python source ---------------------------------------------------------------------------------------------------


def _program(rules: Sequence[ProgramChangeRule], sides: Sides, now: Side, failures: list[str]) -> Iterator[Judged]:
    if not rules or not any((change.path or change.before).endswith(ENDING) for change in sides.patch.files):
        return
    from meshlint.protocol.change import ProgramChange

    files = tuple(_changed(sides, now))
    if not files:
        return
    change = ProgramChange(files, lambda: _facts_of_all(now.context))
    for rule in rules:
        try:
            yield from [judged_of(rule, verdict) for verdict in rule.check(change) if verdict.span is not None]
        except Exception as error:
            _failed(rule.code, error, failures)


def _facts_of_all(context: Context) -> Mapping[str, FileFacts]:
    """Give the facts of the whole program, which most changes are judged without."""
    from meshlint.engine.program_facts import facts_of_files

    return facts_of_files([path for path in context.files if path.endswith(ENDING)], context, None)


def _failed(code: str, error: Exception, failures: list[str]) -> None:
    if os.environ.get("MESHLINT_DEBUG") == "1":
        raise error
    failures.append(f"{code} failed ({type(error).__name__})")


def _changed(sides: Sides, now: Side) -> Iterator[ChangedFile]:
    """Give the Python files that the change touches, with the facts of both sides."""
    from meshlint.protocol.change import ChangedFile

    former = sides.before.replaced
    for change in sides.patch.files:
        path = change.path or change.before
        if change.opaque or not path.endswith(ENDING):
            continue
        before = former.get(change.before) if change.before else None
        if change.before and before is None and change.before != change.path:
            continue
        yield ChangedFile(path, _facts(change.before, before), _facts(change.path, _text(change, now)), moves(change))


def _text(change: FileChange, now: Side) -> str | None:
    if not change.path:
        return None
    try:
        return now.context.tree.read(change.path).text
    except Unreadable:
        return None


def _facts(path: str, text: str | None) -> FileFacts | None:
    if text is None:
        return None
    from meshlint.protocol.facts import read

    facts = read(path, text)
    return None if facts.note and not facts.definitions else facts


def moves(change: FileChange) -> Callable[[int], int]:
    """Give where a line of the side before stands now, or would stand."""

    def moved(line: int) -> int:
        shift = 0
        for first, now, before in change.undo:
            start = first - shift
            if line < start:
                break
            if line < start + len(before):
                return first + _place(now, before, line - start)
            shift += len(now) - len(before)
        return line + shift

    return moved


def _place(now: Sequence[str], before: Sequence[str], at: int) -> int:
    """Give where line `at` of one text stands in another, or the line behind the place where it stood, if any does."""
    import difflib

    for tag, first, last, new, _ in difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if first <= at < last:
            return new + at - first if tag == "equal" else min(new, max(0, len(now) - 1))
    return max(0, len(now) - 1)


# -- launches --------------------------------------------------------------------------------------------------------


def _launches(
    rules: Sequence[LaunchChangeRule], before: Side, now: Side, patch: Patch, options: Options, failures: list[str]
) -> Iterator[Judged]:
    former = dict(_of_side(before, options, patch.former))
    for name, variants in _of_side(now, options, {}):
        old = former.get(name, [])
        if len(old) == len(variants):
            for rule in rules:
                yield from _compared(rule, (old, before.context), (variants, now.context), failures)


def _of_side(side: Side, options: Options, former: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], list[Launch]]]:
    """Give the launches that read a changed file, by a name that both sides share."""
    scope, context = side.scope, side.context
    back = {old: new for new, old in former.items()}
    wide = replace(scope, asked=tuple(sorted({*scope.asked, *readers.readers(scope, context.tree)})))
    ignored: list[str] = []
    for entry in gather.entries(wide, context, ignored):
        for variants in gather.launches(entry, context, options, ignored):
            first = variants[0]
            if entry.path in scope.asked or any(launch.reads & scope.named for launch in variants):
                identity = first.identity.replace(entry.path, back.get(entry.path, entry.path), 1)
                yield (first.framework, entry.surface.name, identity), variants


Variants = tuple[Sequence[Launch], Context]


def _compared(rule: LaunchChangeRule, before: Variants, now: Variants, failures: list[str]) -> Iterator[Judged]:
    """Judge one launch by one rule: each variant and role with that of the other side."""
    first = now[0][0]
    if rule.frameworks and first.framework not in rule.frameworks:
        return
    try:
        model = framework(first.framework)
    except KeyError:
        return
    grounds = [Ground(model, resolve(side[0][0], model, side[1]), shapes_of(side[1])) for side in (before, now)]
    trial = Trial(type(rule))
    try:
        for index, (old, new) in enumerate(zip(before[0], now[0], strict=True)):
            _try(rule, trial, index, (old, new), grounds)
    except Exception as error:
        _failed(rule.code, error, failures)
        return
    yield from findings_of(trial, len(now[0]), grounds[1].versions)


def _try(
    rule: LaunchChangeRule, trial: Trial, index: int, launches: tuple[Launch, Launch], grounds: Sequence[Ground]
) -> None:
    model = grounds[0].framework
    there = {role.name for role in model.roles(launches[0])}
    for role in model.roles(launches[1]):
        choices: list[dict[str, Version]] = [{}] if role.name in there else []
        for _ in range(MAX_FORKS):
            if not choices:
                break
            chosen = choices.pop(0)
            old, new = (ground.config(launch, role, chosen) for ground, launch in zip(grounds, launches, strict=True))
            try:
                hits = [hit_of(rule, verdict, new) for verdict in rule.check(old, new)]
            except Fork as fork:
                choices[:0] = [{**chosen, fork.library: version} for version in fork.candidates]
                continue
            except Unjudged:
                continue
            trial.judged.append((index, role.name, chosen))
            trial.hits += hits


def joined(others: Iterable[Finding], findings: Iterable[Finding], supersedes: Mapping[str, Set[str]]) -> list[Finding]:
    """Put what rules about changes found beside the rest, one finding a cause.

    What another rule tells of the same place, with proof, stands; `supersedes` names the rules that give way to one
    about changes where it names their place.
    """
    others = list(others)
    kept = [one for one in findings if not _told(one, others, supersedes.get(one.code, frozenset()))]
    gone = {(code, place) for one in kept for code in supersedes.get(one.code, ()) for place in _places(one)}
    return [*(other for other in others if (other.code, _line(other.span)) not in gone), *kept]


def _told(finding: Finding, others: Iterable[Finding], weaker: Set[str]) -> bool:
    own = {_line(span) for span in (finding.span, *(related.span for related in finding.related[:1]))}
    return any(own & _places(other) for other in others if other.code not in weaker)


def _places(finding: Finding) -> set[tuple[str, int]]:
    return {_line(span) for span in (finding.span, *(related.span for related in finding.related))}


def _line(span: Span) -> tuple[str, int]:
    return span.path, span.line
