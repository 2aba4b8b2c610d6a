"""Judging launches: every rule, over every variant, role and open version, into findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from packaging.version import Version

from meshlint.config.effective import EffectiveConfig, Fork, Resolved, Unjudged
from meshlint.config.framework import Framework, Role
from meshlint.config.launch import Launch, Pin
from meshlint.config.shapes.source import Shapes
from meshlint.config.value import Kind, Value
from meshlint.engine.merge import Judged, fingerprint
from meshlint.engine.ruleset import page
from meshlint.engine.spelled import in_words_of
from meshlint.engine.trace import Traced
from meshlint.finding import Confidence, Coverage, Finding, LaunchRef, NotJudged, Related, Severity
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.rule import LaunchChangeRule, LaunchRule, Verdict

MAX_FORKS = 512
"""Version choices judged for one rule of one role; beyond them the rule counts as not judged."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A verdict under one variant, role and version choice, with the values it names."""

    rule: type[LaunchRule | LaunchChangeRule]
    verdict: Verdict
    launch: Launch
    framework: Framework
    role: Role
    chosen: Mapping[str, Version]
    at: Value | None
    values: tuple[tuple[str, Value], ...]
    libraries: tuple[str, ...] = ()
    """The libraries whose version the rule asked for."""
    assumed: tuple[str, ...] = ()
    """What the rule took for granted, in sentences."""
    sizes: Mapping[str, Any] = field(default_factory=dict)
    """What the launch sets of the fields that reproducers take."""

    @property
    def named(self) -> tuple[tuple[str, Value], ...]:
        """Give the fields that took part, the one to edit first."""
        return (*(((self.verdict.at, self.at),) if self.at is not None else ()), *self.values)

    @property
    def span(self) -> Span:
        """Give the place to edit: the verdict's own, the field's, or that of the launch."""
        if self.verdict.span is not None:
            return self.verdict.span
        return (self.at.span if self.at is not None else None) or self.launch.place

    @property
    def cause(self) -> tuple[str, ...]:
        """Give what makes two hits one finding."""
        return (self.rule.code, str(self.span), self.verdict.at, self.verdict.subject)


@dataclass(slots=True)
class Trial:
    """What became of one rule on one launch: hits, how many choices were judged, and what stopped the rest."""

    rule: type[LaunchRule | LaunchChangeRule]
    hits: list[Hit] = field(default_factory=list)
    judged: list[tuple[int, str, Mapping[str, Version]]] = field(default_factory=list)
    stopped: NotJudged | None = None
    failure: str = ""
    """What went wrong inside the rule itself."""

    def stop(self, field: str, reason: str) -> None:
        """Note what stopped the rule; the first reason stands."""
        self.stopped = self.stopped or NotJudged(self.rule.code, field, reason)


@dataclass(frozen=True, slots=True)
class Ground:
    """What all variants and roles of a launch stand on: the framework, the versions, the shapes of models."""

    framework: Framework
    versions: Mapping[str, Resolved]
    shapes: Shapes | None = None

    def config(
        self, launch: Launch, role: Role, chosen: Mapping[str, Version], shared: dict[str, Value] | None = None
    ) -> Traced:
        """Give the effective config of one role of one variant under one choice of versions.

        `shared` carries what hangs on no version from one config of a role and variant to the next.
        """
        return Traced(launch, self.framework, role, self.versions, chosen, self.shapes, shared)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said of one launch: findings, how far it was judged, the files it read, and rules that failed."""

    judged: tuple[Judged, ...]
    coverage: Coverage
    reads: frozenset[str]
    failures: tuple[str, ...] = ()


def judge(variants: Sequence[Launch], ground: Ground, rules: Iterable[LaunchRule]) -> Judgement:
    """Judge one launch (all its variants) by every rule that speaks of its framework."""
    framework, versions = ground.framework, ground.versions
    shared: Shared = {}
    trials = [
        _try(rule, variants, ground, shared)
        for rule in rules
        if not rule.frameworks or framework.name in rule.frameworks
    ]
    gone = {code for trial in trials if trial.hits for code in trial.rule.supersedes}
    findings = [
        finding
        for trial in trials
        if trial.rule.code not in gone
        for finding in findings_of(trial, len(variants), versions)
    ]
    reads = frozenset({variants[0].place.path}.union(*(launch.reads for launch in variants)))
    failures = tuple(trial.failure for trial in trials if trial.failure)
    return Judgement(tuple(findings), _coverage(variants[0], framework, versions, trials), reads, failures)


Shared = dict[tuple[int, str], dict[str, Value]]
"""Values that hang on no version, by variant and role."""


def _try(rule: LaunchRule, variants: Sequence[Launch], ground: Ground, shared: Shared) -> Trial:
    trial = Trial(type(rule))
    for index, launch in enumerate(variants):
        roles = ground.framework.roles(launch)
        for role in roles:
            _try_role(rule, trial, index, launch, role, ground, shared.setdefault((index, role.name), {}))
        undecided = ground.framework.undecided(launch) if not roles else None
        if undecided is not None:
            trial.stop(*undecided)
    return trial


def _try_role(
    rule: LaunchRule,
    trial: Trial,
    index: int,
    launch: Launch,
    role: Role,
    ground: Ground,
    shared: dict[str, Value],
) -> None:
    open_choices: list[dict[str, Version]] = [{}]
    runs = 0
    while open_choices:
        chosen = open_choices.pop(0)
        runs += 1
        if runs > MAX_FORKS:
            trial.stop("versions", "too many version combinations are open")
            return
        config = ground.config(launch, role, chosen, shared)
        try:
            hits = [hit_of(rule, verdict, config) for verdict in rule.check(config)]
        except Fork as fork:
            open_choices[:0] = [{**chosen, fork.library: v} for v in fork.candidates]
            continue
        except Unjudged as stop:
            trial.stop(stop.field, stop.reason)
            continue
        except Exception as error:
            if os.environ.get("MESHLINT_DEBUG") == "1":
                raise
            trial.failure = f"{rule.code} failed on {launch.identity} ({type(error).__name__})"
            trial.stop("rule", "the rule itself failed")
            return
        trial.judged.append((index, role.name, chosen))
        sizes = sizes_of(config) if hits else {}
        about = {"framework": config.framework.name}
        trial.hits += [replace(h, sizes=sizes | about | {"subject": h.verdict.subject or h.verdict.at}) for h in hits]


def hit_of(rule: LaunchRule | LaunchChangeRule, verdict: Verdict, config: Traced) -> Hit:
    """Give a verdict together with what it was judged on, and with the values that it names."""
    at = config.value(verdict.at) if verdict.at else None
    values = tuple((name, config.value(name)) for name in verdict.fields)
    asked, assumed = tuple(config.libraries), tuple(config.assumed)
    where = config.launch, config.framework, config.role
    return Hit(type(rule), verdict, *where, config.chosen, at, values, asked, assumed)


SIZES = (
    "context_parallel_size", "tensor_model_parallel_size", "pipeline_model_parallel_size",
    "expert_model_parallel_size", "hierarchical_context_parallel_sizes", "cp_comm_type", "seq_length",
    "num_attention_heads", "num_query_groups", "num_layers", "num_moe_experts", "moe_router_topk",
    "global_batch_size", "micro_batch_size", "world_size", "expert_tensor_parallel_size",
    "num_distributed_optimizer_instances", "pad_multiple", "virtual_pipeline_model_parallel_size",
    "microbatch_group_size_per_vp_stage", "hidden_size", "sequence_parallel", "moe_token_dispatcher_type",
    "moe_enable_deepep", "moe_flex_dispatcher_backend", "moe_shared_expert_intermediate_size",
    "moe_expert_capacity_factor", "variable_seq_lengths", "moe_pad_expert_input_to_capacity",
)  # fmt: skip
"""The fields that reproducers take from a launch (`meshlint.reproduce.own`); what a finding is about is `subject`."""


def sizes_of(config: EffectiveConfig) -> dict[str, Any]:
    """Give those of SIZES that are known; asked last, since asking leaves its traces in the config."""
    found: dict[str, Any] = {}
    for name in SIZES:
        with suppress(Fork, Unjudged, KeyError):
            value = config.value(name)
            data = None if value.is_unknown else value.data
            if isinstance(data, (int, str, float)):
                found[name] = data
            elif isinstance(data, (tuple, list)) and all(isinstance(one, (int, str)) for one in data):
                found[name] = list(data)
    return found


def findings_of(trial: Trial, variants: int, versions: Mapping[str, Resolved]) -> list[Judged]:
    """Make one finding of each cause; `variants` is how many the launch has."""
    causes: dict[tuple[object, ...], list[Hit]] = {}
    for hit in trial.hits:
        causes.setdefault(hit.cause, []).append(hit)
    found = list(causes.values())
    if trial.rule.every_variant:
        found = [hits for hits in found if len({id(hit.launch) for hit in hits}) == variants]
    return [Judged(hits[0].cause, _finding(hits, trial, variants, versions)) for hits in found]


def _finding(hits: list[Hit], trial: Trial, variants: int, versions: Mapping[str, Resolved]) -> Finding:
    first = hits[0]
    libraries = sorted({library for hit in hits for library in hit.libraries})
    rule, verdict = first.rule, first.verdict
    severity = max((h.verdict.severity or rule.severity for h in hits), key=lambda s: s.rank)
    confidence = verdict.confidence
    notes = [sentence for hit in hits[:1] for sentence in hit.assumed]
    tabled = _tabled(first)
    if tabled:
        if severity is Severity.ERROR:
            notes.append(f"A warning, since nothing here writes {' and '.join(tabled)}: {_tables(first)}.")
        severity, confidence = _at_most_warning(severity), Confidence.MEDIUM
    if first.assumed:
        severity, confidence = _at_most_warning(severity), Confidence.MEDIUM
    ranges = _version_note(hits, trial)
    if ranges:
        severity = _at_most_warning(severity)
        notes.append(ranges)
    hit_variants = {id(h.launch) for h in hits}
    if len(hit_variants) < variants:
        severity = severity.lowered()
        branches = "; ".join(f"`{b.text}` is {str(b.taken).lower()}" for b in first.launch.branches)
        notes.append(f"Only where {branches}." if branches else "Only on some branches of the script.")
    caveats = sorted({o.caveat for v in _values(first) for o in v.origins if o.caveat})
    if caveats:
        notes.append(f"Unless overridden: {', '.join(caveats)}.")
    if any("could not be read" in caveat for caveat in caveats):
        confidence = Confidence.MEDIUM
    return Finding(
        code=rule.code,
        slug=rule.slug,
        severity=severity,
        confidence=confidence,
        outcome=verdict.outcome,
        span=first.span,
        message=" ".join([_said(hits, trial), *notes]),
        fingerprint=_fingerprint(first),
        related=_distinct(first.span, (*_related(first), *verdict.related, *_pins(libraries, versions))),
        launches=(LaunchRef(first.launch.identity, first.launch.place, _roles(hits)),),
        framework=first.launch.framework,
        versions={lib: _shown(versions[lib]) for lib in libraries if lib in versions},
        pinned={lib: _pinned(pin) for lib in libraries if (pin := _pin(versions, lib)) is not None},
        given=tuple(_given(first)),
        fix=in_words_of(verdict.fix, first.launch, first.framework, first.role),
        rule_url=page(rule),
        sizes=first.sizes,
    )


def _roles(hits: list[Hit]) -> tuple[str, ...]:
    """Name the roles where a fault stands; none where a launch has a single one without a name."""
    return tuple(dict.fromkeys(hit.role.name for hit in hits if hit.role.name))


def _distinct(primary: Span, related: Iterable[Related]) -> tuple[Related, ...]:
    """Leave out the primary place, and further words about one place."""
    seen = {primary}
    return tuple(r for r in related if not (r.span in seen or seen.add(r.span)))  # type: ignore[func-returns-value]


def _pins(libraries: Iterable[str], versions: Mapping[str, Resolved]) -> list[Related]:
    """Give the places that pin the libraries that the rule asked about."""
    found = [(lib, versions[lib]) for lib in libraries if lib in versions]
    pins = [(lib, pin) for lib, resolved in found for pin in (resolved.pin, *resolved.others) if pin is not None]
    return [
        Related(pin.value.span, f"{lib} is pinned to {pin.specifier.removeprefix('==')}{_brought(pin)}")
        for lib, pin in pins
        if pin.value.span is not None
    ]


def _brought(pin: Pin) -> str:
    """Say what brings a version along, where its place pins something else."""
    first = pin.value.origins[0]
    return f", {first.note}" if first.kind is Kind.DERIVED and first.note else ""


def _pin(versions: Mapping[str, Resolved], library: str) -> Pin | None:
    return versions[library].pin if library in versions else None


def _pinned(pin: Pin) -> str:
    span = pin.value.span
    if span is not None:
        return f"{span.path}:{span.line}"
    return next((o.note or o.text for o in pin.value.origins if o.note or o.text), "")


def _at_most_warning(severity: Severity) -> Severity:
    return Severity.WARNING if severity is Severity.ERROR else severity


def _tabled(hit: Hit) -> list[str]:
    """Name the fields whose value is not written anywhere but stands in a table of ours."""
    return list(dict.fromkeys(n for n, value in hit.named if any(o.kind is Kind.TABLE for o in value.origins)))


def _tables(hit: Hit) -> str:
    """Name the tables that stand in, in the words of their own notes."""
    notes = (o.note for _, value in hit.named for o in value.origins if o.kind is Kind.TABLE)
    return "; ".join(
        dict.fromkeys(f"taken for {note}" if note.startswith("what ") else f"taken from {note}" for note in notes)
    )


def _values(hit: Hit) -> list[Value]:
    return [value for _, value in hit.named]


def _said(hits: list[Hit], trial: Trial) -> str:
    """Give the message; where it differs between the versions that are open, each with those it is about."""
    said: dict[str, list[Hit]] = {}
    for hit in hits:
        said.setdefault(hit.verdict.message, []).append(hit)
    where = [_standing(mine, trial) for mine in said.values()]
    if len(said) == 1 or "" in where or len(set(where)) < len(where):
        return hits[0].verdict.message
    return " ".join(f"On {place}: {message}" for place, message in zip(where, said, strict=True))


def _version_note(hits: list[Hit], trial: Trial) -> str:
    """Name the versions where the fault stands, if it does not stand on all that were judged."""
    standing = _standing(hits, trial)
    return f"This holds on {standing}; no pin says which is used here." if standing else ""


def _standing(hits: list[Hit], trial: Trial) -> str:
    """Give the versions of some hits, by library; empty where those are all that were judged."""
    libraries = sorted({lib for _, _, chosen in trial.judged for lib in chosen})
    parts = []
    for library in libraries:
        bad = {h.chosen[library] for h in hits if library in h.chosen}
        judged = sorted({c[library] for _, _, c in trial.judged if library in c})
        if bad and bad != set(judged):
            parts.append(f"{library} {version_runs(judged, bad)}")
    return " with ".join(parts)


def version_runs(judged: list[Version], bad: set[Version]) -> str:
    """Give some of the judged versions, which are sorted, in words: `0.15.0 to 0.16.1, 0.18.0`."""
    runs: list[list[Version]] = []
    for before, version in zip([None, *judged], judged, strict=False):
        if version not in bad:
            continue
        if runs and before is not None and runs[-1][-1] == before:
            runs[-1].append(version)
        else:
            runs.append([version])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs)


def _related(hit: Hit) -> list[Related]:
    seen = {hit.span}
    related = []
    for name, value in hit.named:
        for origin in value.origins:
            if origin.span is None or origin.span in seen:
                continue
            if origin is not value.origins[0] and any(_same_line(origin.span, span) for span in seen):
                continue  # the word around a value that is shown already
            seen.add(origin.span)
            related.append(
                Related(
                    origin.span,
                    f"{name} = {_show(value)}"
                    if origin is value.origins[0]
                    else origin.note or f"{name} passes through here",
                )
            )
    return related


def _given(hit: Hit) -> Iterator[str]:
    """Give the options and variables that took part and stand in no file."""
    for name, value in hit.named:
        for origin in value.origins:
            if origin.span is None and origin.kind is Kind.OPTION and (origin.note or origin.text):
                yield f"{origin.note or origin.text}: {name} = {_show(value)}"


def _same_line(one: Span, other: Span) -> bool:
    return (one.path, one.line) == (other.path, other.line)


def _show(value: Value) -> str:
    """Write a value as people do: `[2, 2]`, and the single entry of a list by itself."""
    data = value.data
    if isinstance(data, tuple) and len(data) != 1:
        return f"[{', '.join(map(str, data))}]"
    shown = data[0] if isinstance(data, tuple) else data
    return "null" if shown is None else str(shown)


def _shown(resolved: Resolved) -> str:
    """Give the only version, or the first and the last of those that are judged."""
    versions = resolved.candidates
    return f"{versions[0]} to {versions[-1]}" if len(versions) > 1 else "".join(str(v) for v in versions)


def _fingerprint(hit: Hit) -> str:
    origin = hit.at.origins[0] if hit.at is not None and hit.at.origins else None
    parts = [
        hit.rule.code,
        hit.span.path,
        hit.verdict.scope or (origin.scope if origin is not None else ""),
        hit.verdict.at,
        hit.verdict.subject,
        *(o.text for v in _values(hit) for o in v.origins[:1]),
        *(name for name, _ in hit.values),
    ]
    return fingerprint(*parts)


def _coverage(launch: Launch, framework: Framework, versions: Mapping[str, Resolved], trials: list[Trial]) -> Coverage:
    return Coverage(
        launch=LaunchRef(launch.identity, launch.place),
        framework=framework.name,
        surface=launch.surface,
        judged=tuple(t.rule.code for t in trials if t.stopped is None),
        not_judged=tuple(t.stopped for t in trials if t.stopped is not None),
        versions={lib: _shown(r) for lib, r in versions.items()},
    )
