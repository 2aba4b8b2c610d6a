"""The effective config of every launch, and why a rule did or did not fire: what `meshlint config` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.version import Version

from meshlint.config.effective import WORLD, Fork, Resolved, Unjudged
from meshlint.config.fields import FIELDS
from meshlint.config.framework import Role
from meshlint.config.launch import Branch, Launch
from meshlint.config.registry import framework
from meshlint.config.shapes.source import shapes_of
from meshlint.config.surface import Context, Problem
from meshlint.config.value import Kind, Origin, State, Value
from meshlint.config.versions import resolve
from meshlint.engine import gather
from meshlint.engine.judge import MAX_FORKS, Ground, judge, version_runs
from meshlint.engine.options import Options, UsageError
from meshlint.engine.ruleset import load, nearest
from meshlint.engine.run import scope_of, scope_of_command
from meshlint.engine.trace import Traced
from meshlint.records import dataclass
from meshlint.rule import LaunchRule
from meshlint.sources.discover import Scope

MAX_CHOICES = 64
"""Version choices shown for one field."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A field of a role: its value, or the different values that open versions give it."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a rule did or did not fire, on all choices of versions that decide alike.

    `result` is `fires`, `silent` or `not judged`, `told` the message or the reason; `asked` are the fields that the
    rule asked for, in order, `versions` the libraries that have one version, `chosen` the open ones that it asked
    about, each with all releases that this holds on.
    """

    role: str
    result: str
    told: str
    asked: tuple[Shown, ...]
    versions: dict[str, str]
    chosen: dict[str, tuple[Version, ...]]
    variables: tuple[str, ...]
    habits: dict[str, str]

    def releases(self, resolved: Mapping[str, Resolved]) -> dict[str, str]:
        """Give the open versions in words, by library: `0.15.0 to 0.16.1, 0.18.0`."""
        return {
            library: version_runs(sorted(resolved[library].candidates), set(versions))
            for library, versions in sorted(self.chosen.items())
        }


@dataclass(frozen=True, slots=True)
class RoleView:
    """One role of a launch, its fields in canonical order; `world` are its ranks where they are not the launch's."""

    name: str
    fields: tuple[Shown, ...]
    world: Value | None = None


@dataclass(frozen=True, slots=True)
class LaunchView:
    """One variant of a launch."""

    launch: Launch
    branches: tuple[Branch, ...]
    roles: tuple[RoleView, ...]
    versions: dict[str, Resolved]
    reasons: tuple[Reason, ...] = ()
    superseded: str = ""
    left_out: str = ""
    """Why `meshlint check`, asked the same, does not judge the rule; empty where it does."""


def inspect(
    paths: Sequence[str], options: Options, why: str = "", command: Sequence[str] | None = None
) -> tuple[list[LaunchView], list[Problem]]:
    """Give every launch under the paths, or of a command, and what could not be read.

    Raises UsageError for what cannot be asked.
    """
    rule = _rule(why) if why else None
    scope = scope_of(paths, options) if command is None else scope_of_command(command, options)
    context = gather.context_of(scope, options)
    failures: list[str] = []
    if command is None:
        groups = _of_paths(scope, context, options, failures)
    else:
        groups = gather.command_launches(command, context, options, failures)
    left_out = _left_out(rule, options) if rule is not None else ""
    views = [_view(launch, context, rule, left_out) for variants in groups for launch in variants]
    context.problems += gather.unreadable(scope, context)
    if failures:
        raise RuntimeError(failures[0])
    return views, context.problems


def _of_paths(scope: Scope, context: Context, options: Options, failures: list[str]) -> Iterator[list[Launch]]:
    for entry in gather.entries(scope, context, failures):
        yield from gather.launches(entry, context, options, failures)


def _rule(code: str) -> LaunchRule:
    rules = load()
    found = next((rule for rule in rules if code.upper() == rule.code or code == rule.slug), None)
    if found is None:
        raise UsageError(f"there is no rule `{code}`{nearest(rules, code)}")
    if not issubclass(found, LaunchRule):
        raise UsageError(f"{found.code} does not judge configs")
    return found()


def _left_out(rule: LaunchRule, options: Options) -> str:
    """Say why a run with these options does not judge a rule; raises UsageError for options that cannot be."""
    from meshlint.engine.whole import choose

    why = choose(options)[0].left_out.get(rule.code, "")
    return {
        "preview": f"{rule.code} is in preview: `check` judges it only with --preview, or where it is selected",
        "ignored": f"{rule.code} is ignored: `check` does not judge it{_ignored_where(rule, options)}",
        "not selected": f"{rule.code} is not selected: `check` does not judge it",
    }.get(why, "")


def _ignored_where(rule: LaunchRule, options: Options) -> str:
    settings = options.settings
    names = (rule.code, rule.slug, rule.family(), "ALL")
    in_file = settings.ignore and not any(name in options.ignore for name in names)
    return f" ({settings.where('ignore')})" if in_file else " (--ignore)"


def _view(launch: Launch, context: Context, rule: LaunchRule | None, left_out: str = "") -> LaunchView:
    model = framework(launch.framework)
    ground = Ground(model, resolve(launch, model, context), shapes_of(context))
    roles = model.roles(launch)
    return LaunchView(
        launch,
        launch.branches,
        tuple(_role_view(launch, role, ground) for role in roles),
        dict(ground.versions),
        tuple(_all_reasons(rule, launch, ground)) if rule is not None else (),
        _superseded(rule, launch, ground) if rule is not None else "",
        left_out,
    )


def _role_view(launch: Launch, role: Role, ground: Ground) -> RoleView:
    return RoleView(
        role.name, tuple(_fields(launch, role, ground, FIELDS)), _own_world(launch, ground.config(launch, role, {}))
    )


def _own_world(launch: Launch, config: Traced) -> Value | None:
    """Give the ranks of a role where they are others than those of its launch."""
    try:
        own = config.value(WORLD)
    except Fork:
        return None
    same = launch.world is None or (own.state, own.data) == (launch.world.state, launch.world.data)
    return None if same else own


def _superseded(rule: LaunchRule, launch: Launch, ground: Ground) -> str:
    """Name the rule that speaks in place of this one, if any."""
    others = [r() for r in load() if issubclass(r, LaunchRule) and rule.code in r.supersedes]
    found = judge((launch,), ground, others).judged
    return found[0].finding.code if found else ""


def _fields(launch: Launch, role: Role, ground: Ground, names: Iterable[str]) -> Iterator[Shown]:
    for name in names:
        yield Shown(name, tuple(dict.fromkeys(_values(launch, role, ground, name))))


def _values(launch: Launch, role: Role, ground: Ground, name: str) -> Iterator[Value]:
    """Give a field's value under each choice of open versions that it depends on."""
    choices: list[dict[str, Version]] = [{}]
    for _ in range(MAX_CHOICES):
        if not choices:
            return
        chosen = choices.pop(0)
        try:
            yield ground.config(launch, role, chosen).value(name)
        except Fork as fork:
            choices[:0] = [{**chosen, fork.library: version} for version in fork.candidates]


def _all_reasons(rule: LaunchRule, launch: Launch, ground: Ground) -> Iterator[Reason]:
    """Give the reasons of every role; where none is known, the reason why."""
    for role in ground.framework.roles(launch):
        yield from _merged(_reasons(rule, launch, role, ground))
    undecided = ground.framework.undecided(launch) if not ground.framework.roles(launch) else None
    if undecided is not None:
        yield Reason("", "not judged", ": ".join(undecided), (), {}, {}, (), {})


def _reasons(rule: LaunchRule, launch: Launch, role: Role, ground: Ground) -> Iterator[Reason]:
    if rule.frameworks and ground.framework.name not in rule.frameworks:
        yield Reason(role.name, "not judged", f"it does not speak of {ground.framework.title}", (), {}, {}, (), {})
        return
    choices: list[dict[str, Version]] = [{}]
    for _ in range(MAX_FORKS):
        if not choices:
            return
        chosen = choices.pop(0)
        config = ground.config(launch, role, chosen)
        try:
            verdicts = list(rule.check(config))
            result, told = ("fires", verdicts[0].message) if verdicts else ("silent", "")
        except Fork as fork:
            choices[:0] = [{**chosen, fork.library: version} for version in fork.candidates]
            continue
        except Unjudged as stop:
            result, told = "not judged", f"{stop.field}: {stop.reason}"
        yield Reason(
            role.name,
            result,
            told,
            tuple(Shown(name, (config.value(name),)) for name in list(config.fields)),
            {lib: str(config.version(lib)) for lib in list(config.libraries) if _known(ground, lib)},
            {lib: (version,) for lib, version in chosen.items()},
            tuple(config.variables),
            {name: _habit(config, name) for name in list(config.habits)},
        )
    if choices:
        yield Reason(role.name, "not judged", "too many version combinations are open", (), {}, {}, (), {})


def _merged(reasons: Iterable[Reason]) -> list[Reason]:
    """Join reasons that differ only in the releases of one library, one library after the other."""
    found = list(reasons)
    for library in sorted({library for reason in found for library in reason.chosen}):
        joined: list[Reason] = []
        for reason in found:
            at = next((i for i, one in enumerate(joined) if _but(one, library) == _but(reason, library)), None)
            if at is None:
                joined.append(reason)
            else:
                versions = (*joined[at].chosen[library], *reason.chosen[library])
                joined[at] = replace(joined[at], chosen={**joined[at].chosen, library: versions})
        found = joined
    return found


def _but(reason: Reason, library: str) -> Reason:
    """Give a reason without the releases of one library."""
    chosen = {lib: () if lib == library else versions for lib, versions in reason.chosen.items()}
    return replace(reason, chosen=chosen)


def _habit(config: Traced, name: str) -> str:
    """Show a habit; one that hangs on a version that is not known says so."""
    try:
        return str(config.habit(name))
    except (Fork, Unjudged):
        return "not known, it hangs on the version"


def _known(ground: Ground, library: str) -> bool:
    resolved = ground.versions.get(library)
    return resolved is not None and len(resolved.candidates) == 1


def where(value: Value) -> str:
    """Say where a value comes from, in a few words."""
    if value.state is State.UNKNOWN:
        return value.reason
    caveats = dict.fromkeys(origin.caveat for origin in value.origins if origin.caveat)
    said = (f"unless overridden: {caveat}" for caveat in caveats)
    return "; ".join((*(part for origin in value.origins if (part := _origin(origin))), *said))


def _origin(origin: Origin) -> str:
    place = str(origin.span) if origin.span is not None else ""
    words = origin.text if origin.kind is Kind.OPTION else origin.note
    return " ".join(part for part in (place, f"({words})" if place and words else words) if part)
