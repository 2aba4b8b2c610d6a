"""Launch cards: what each launch under some paths, or a command, comes to, and whether it may go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from packaging.version import Version as Release

from meshlint.card import Card, Item, Line, RoleCard, Variant, Version
from meshlint.config.card import batch, groups, pads, ranks, stages
from meshlint.config.card.ranks import Part
from meshlint.config.effective import Fork, Resolved, Unjudged, option
from meshlint.config.framework import Role
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.shapes.source import shapes_of
from meshlint.config.surface import Context
from meshlint.config.value import Value
from meshlint.config.versions import resolve
from meshlint.engine import gather
from meshlint.engine.judge import Ground, version_runs
from meshlint.engine.options import Options
from meshlint.engine.readers import readers
from meshlint.engine.run import scope_of, scope_of_command, with_sources
from meshlint.engine.whole import Outcome, choose, judge_launch, report_of
from meshlint.finding import Coverage, Finding, LaunchRef, Report
from meshlint.records import dataclass
from meshlint.sources.discover import Scope

Marking = Callable[[Report], Report]

MAX_CHOICES = 64
"""Version choices that one line of a card is worked out under."""


@dataclass(frozen=True, slots=True)
class Deck:
    """The cards of a run, and the report of the same run; `launches` are the variants behind each card."""

    cards: tuple[Card, ...]
    report: Report
    launches: tuple[tuple[Launch, ...], ...]
    grounds: tuple[Ground, ...]

    @property
    def apart(self) -> tuple[Finding, ...]:
        """Give the findings that count and stand on no card, such as a launch that cannot be read."""
        told = {finding.fingerprint for card in self.cards for finding in card.findings}
        return tuple(f for f in self.report.findings if f.counts and f.fingerprint not in told)


@dataclass(slots=True)
class _Dealt:
    """What is gathered launch by launch: its variants, and what they stand on."""

    groups: list[list[Launch]] = field(default_factory=list)
    grounds: list[Ground] = field(default_factory=list)


def cards(
    paths: Sequence[str],
    options: Options,
    command: Sequence[str] | None = None,
    per_node: int | None = None,
    marked: Marking | None = None,
) -> Deck:
    """Give the card of every launch; raises UsageError for what cannot be asked.

    Where no launch starts in the paths, those are taken that read them. `per_node` are the GPUs of a node; `marked`
    marks, in a report, the findings that a baseline holds.
    """
    scope = scope_of(paths, options) if command is None else scope_of_command(command, options)
    return cards_of(scope, options, command, per_node, marked)


def cards_of(
    scope: Scope,
    options: Options,
    command: Sequence[str] | None = None,
    per_node: int | None = None,
    marked: Marking | None = None,
    modules: Mapping[str, str] | None = None,
) -> Deck:
    """Give the cards of a scope; `modules` are the commits of the submodules, where it is that of a revision."""
    rules, notes = choose(options)
    context = gather.context_of(scope, options)
    if modules is not None:
        context.shared["pins.gitlinks"] = dict(modules)
    outcome = Outcome(notes=list(notes))
    dealt = _Dealt()
    active = tuple(rules.launch_rules())
    for variants in _launches(scope, context, options, outcome, command):
        sized = [_sized(launch, per_node) for launch in variants]
        before = len(outcome.judgements)
        judge_launch(sized, context, active, outcome)
        if len(outcome.judgements) == before:
            continue  # a framework that does not exist, which the outcome tells
        model = framework(sized[0].framework)
        dealt.groups.append(sized)
        dealt.grounds.append(Ground(model, resolve(sized[0], model, context), shapes_of(context)))
    context.problems += gather.unreadable(scope, context)
    judged = replace(scope, asked=(), named=frozenset()) if command is not None else scope
    report = report_of(judged, context, options, rules, outcome)
    report = report if marked is None else marked(report)
    made = [
        _card(variants, ground, judgement.coverage, report)
        for variants, ground, judgement in zip(dealt.groups, dealt.grounds, outcome.judgements, strict=True)
    ]
    return Deck(
        tuple(made), with_sources(scope, report), tuple(tuple(group) for group in dealt.groups), tuple(dealt.grounds)
    )


def _launches(
    scope: Scope, context: Context, options: Options, outcome: Outcome, command: Sequence[str] | None
) -> Iterator[list[Launch]]:
    if command is not None:
        yield from gather.command_launches(command, context, options, outcome.failures)
        return
    found = False
    for entry in gather.entries(scope, context, outcome.failures, options.tick):
        for variants in gather.launches(entry, context, options, outcome.failures):
            found = True
            yield variants
    if not found and scope.named:
        yield from _of_readers(scope, context, options, outcome)


def _of_readers(scope: Scope, context: Context, options: Options, outcome: Outcome) -> Iterator[list[Launch]]:
    """Give the launches elsewhere that read a file which a person named."""
    wide = replace(scope, asked=tuple(sorted(readers(scope, context.tree))))
    for entry in gather.entries(wide, context, outcome.failures, options.tick):
        for variants in gather.launches(entry, context, options, outcome.failures):
            if any(launch.reads & scope.named for launch in variants):
                yield variants


def _sized(launch: Launch, per_node: int | None) -> Launch:
    if per_node is None:
        return launch
    return replace(launch, gpus_per_node=option(per_node, f"--gpus-per-node {per_node}"))


def _card(variants: Sequence[Launch], ground: Ground, coverage: Coverage, report: Report) -> Card:
    first = variants[0]
    reference = LaunchRef(first.identity, first.place)
    mine = [finding for finding in report.findings if reference in finding.launches]
    counting = tuple(finding for finding in mine if finding.counts)
    undecided = None if any(ground.framework.roles(one) for one in variants) else ground.framework.undecided(first)
    return Card(
        launch=reference,
        framework=ground.framework.title,
        entry=first.entry,
        variants=_variants(variants, ground),
        findings=tuple(sorted(counting, key=lambda finding: (-finding.severity.rank, finding.sort_key))),
        coverage=coverage,
        versions=tuple(_version(library, found) for library, found in sorted(ground.versions.items())),
        silenced=len(mine) - len(counting),
        undecided="" if undecided is None else ": ".join(undecided),
    )


def _version(library: str, found: Resolved) -> Version:
    releases = found.candidates
    shown = f"{releases[0]} to {releases[-1]}" if len(releases) > 1 else "".join(map(str, releases)) or "?"
    pins = () if found.pin is None else (found.pin, *found.others)
    return Version(library, shown, ", ".join(dict.fromkeys(_where(pin.value) for pin in pins)))


def _where(value: Value) -> str:
    """Say what pins a library: a place, or the words of the option or the table."""
    if value.span is not None:
        return f"{value.span.path}:{value.span.line}"
    origin = value.origins[0] if value.origins else None
    if origin is None:
        return "pinned"
    return origin.note or origin.text


def _variants(variants: Sequence[Launch], ground: Ground) -> tuple[Variant, ...]:
    """Give the variants of a launch whose cards differ, each with the conditions under which it holds."""
    made: list[tuple[tuple[RoleCard, ...], tuple[str, ...]]] = []
    for launch in variants:
        roles = tuple(role_card(launch, role, ground) for role in ground.framework.roles(launch))
        where = tuple(f"`{b.text}` is {str(b.taken).lower()} ({b.span.path}:{b.span.line})" for b in launch.branches)
        if all(roles != other for other, _ in made):
            made.append((roles, where))
    return tuple(Variant(where if len(made) > 1 else (), roles) for roles, where in made)


def role_card(launch: Launch, role: Role, ground: Ground) -> RoleCard:
    """Give the card of one role of one variant."""
    shared: dict[str, Value] = {}

    def line(part: Part) -> Line:
        return settled(launch, role, ground, part, shared)

    return RoleCard(
        name=role.name,
        ranks=line(ranks.ranks),
        nodes=line(ranks.nodes),
        per_node=line(ranks.per_node),
        sizes={name: line(part) for name, part in ranks.SIZES.items()},
        order=line(groups.order),
        groups=line(groups.groups),
        expert_groups=line(groups.expert_groups),
        stages=line(stages.stages),
        step=line(batch.step),
        length=line(pads.length),
        pads=line(pads.pads),
    )


def settled(launch: Launch, role: Role, ground: Ground, part: Part, shared: dict[str, Value]) -> Line:
    """Work out one line under every choice of the open versions that it hangs on.

    Equal answers are one item; different ones each name the releases that they hold on.
    """
    choices: list[dict[str, Release]] = [{}]
    answers: list[tuple[Item, dict[str, Release]]] = []
    for _ in range(MAX_CHOICES):
        if not choices:
            break
        chosen = choices.pop(0)
        try:
            answers.append((part(ground.config(launch, role, chosen, shared)), chosen))
        except Fork as fork:
            choices[:0] = [{**chosen, fork.library: release} for release in fork.candidates]
        except Unjudged as stop:
            answers.append((Item(reason=_reason(stop)), chosen))
    if choices:
        return (Item(reason="too many version combinations are open"),)
    items = list(_distinct(item for item, _ in answers))
    if len(items) == 1:
        return (items[0],)
    return tuple(replace(item, versions=_runs(item, answers, ground.versions)) for item in items)


def _reason(stop: Unjudged) -> str:
    """Say what is not known; a field stands before a reason that is no sentence of its own."""
    return f"{stop.field}: {stop.reason}" if stop.field else stop.reason


def _distinct(items: Iterator[Item]) -> Iterator[Item]:
    seen: list[Item] = []
    for item in items:
        if item not in seen:
            seen.append(item)
            yield item


def _runs(item: Item, answers: list[tuple[Item, dict[str, Release]]], versions: Mapping[str, Resolved]) -> str:
    """Name the releases that an answer holds on, library by library."""
    libraries = sorted({library for _, chosen in answers for library in chosen})
    told = []
    for library in libraries:
        mine = {chosen[library] for one, chosen in answers if one == item and library in chosen}
        if mine and mine != {chosen[library] for _, chosen in answers if library in chosen}:
            told.append(f"{library} {version_runs(sorted(versions[library].candidates), mine)}")
    return " with ".join(told)
