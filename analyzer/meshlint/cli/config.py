"""`meshlint config`: the effective config of each launch, and why a rule did or did not fire."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from meshlint.cli.common import WithCommand, engine_options, given, no_launch, settings_for, shared
from meshlint.report.text import clean, dumps, line_start, plain

if TYPE_CHECKING:
    from meshlint.config.effective import Resolved
    from meshlint.config.launch import Launch
    from meshlint.config.value import Value
    from meshlint.engine.inspect import LaunchView, Reason, RoleView, Shown


@click.command(cls=WithCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]... | -- COMMAND...")
@shared
@click.option("--why", default="", metavar="CODE", help="Say for this rule what decided it.")
@click.option("--all", "everything", is_flag=True, help="Show fields that nobody wrote, with their defaults, too.")
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
@click.pass_context
def command(
    ctx: click.Context, /, paths: tuple[str, ...], why: str, everything: bool, as_json: bool, **values: Any
) -> int:
    """Show for each launch under PATH every canonical field, its value, and where it was written."""
    from meshlint.engine.inspect import inspect
    from meshlint.engine.options import UsageError

    chosen = given(values)
    options = engine_options(settings_for(paths, chosen), chosen)
    try:
        views, problems = inspect(paths, options, why, ctx.meta[WithCommand.KEY])
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    for problem in problems:
        click.echo(f"meshlint: {clean(str(problem.span))}: {clean(problem.sentence)}", err=True)
    if as_json:
        _say(dumps({"launches": [_launch_data(view, why) for view in views]}, 2))
    else:
        for view in views:
            for line in _lines(view, why, everything):
                _say(line)
    if not views:
        click.echo(f"meshlint: {no_launch()}", err=True)
    return 0


def _say(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")


def _lines(view: LaunchView, why: str, everything: bool) -> Iterator[str]:
    launch = view.launch
    yield f"{line_start(launch.identity)}  ({launch.framework}, {launch.surface}, {clean(str(launch.place))})"
    for branch in view.branches:
        yield f"  where `{clean(branch.text)}` is {str(branch.taken).lower()}  ({clean(str(branch.span))})"
    if why:
        if view.left_out:
            yield f"  {clean(view.left_out)}"
        for reason in view.reasons:
            yield from _reason_lines(reason, reason.releases(view.versions))
        if view.superseded:
            yield f"  {view.superseded} speaks in its place"
        yield ""
        return
    for library, resolved in sorted(view.versions.items()):
        yield f"  {library} {_versions(resolved)}"
    world = (("nodes", launch.nodes), ("gpus_per_node", launch.gpus_per_node), ("world_size", launch.world))
    for name, value in world:
        if value is not None:
            yield f"  {name} = {_value(value)}"
    for name, value in _environment(launch):
        yield f"  ${clean(name)} = {_value(value)}"
    for role in view.roles:
        if role.name:
            yield f"  [{role.name}]"
        if role.world is not None:
            yield f"  world_size = {_value(role.world)}"
        for shown in role.fields:
            if everything or any(not _is_default(value) for value in shown.values):
                yield from _field_lines(shown)
    yield ""


def _environment(launch: Launch) -> list[tuple[str, Value]]:
    """Give the variables that a launch sets; what this process merely passes on is nobody's business."""
    from meshlint.config.value import Kind

    return [
        (name, value)
        for name, value in sorted(launch.environment.items())
        if not any(o.kind is Kind.OPTION and o.text == name for o in value.origins)
    ]


def _reason_lines(reason: Reason, chosen: dict[str, str]) -> Iterator[str]:
    versions = " with ".join(f"{library} {releases}" for library, releases in chosen.items())
    role = f" [{reason.role}]" if reason.role else ""
    told = f": {clean(reason.told)}" if reason.told else ""
    yield f"  {reason.result}{role}{f' on {versions}' if versions else ''}{told}"
    for shown in reason.asked:
        yield from (f"  {line}" for line in _field_lines(shown))
    for library, version in sorted(reason.versions.items()):
        yield f"    {library} {version}"
    for name, habit in sorted(reason.habits.items()):
        yield f"    {name}: {habit}"


def _field_lines(shown: Shown) -> Iterator[str]:
    for value in shown.values:
        yield f"  {shown.name} = {_value(value)}"


def _value(value: Value) -> str:
    from meshlint.engine.inspect import where

    return f"{'?' if value.is_unknown else _data(value.data)}  {clean(where(value))}".rstrip()


def _data(data: Any) -> str:
    return clean(json.dumps(data, default=str, ensure_ascii=False))


def _is_default(value: Value) -> bool:
    from meshlint.config.value import State

    return value.state is State.UNSET


def _versions(resolved: Resolved) -> str:
    versions = resolved.candidates
    shown = f"{versions[0]} to {versions[-1]}" if len(versions) > 1 else "".join(map(str, versions)) or "?"
    if resolved.pin is None:
        return f"{shown}  no pin: every supported release is judged"
    return f"{shown}  {' and '.join(_value(pin.value) for pin in (resolved.pin, *resolved.others))}"


def _launch_data(view: LaunchView, why: str) -> dict[str, Any]:
    launch = view.launch
    data: dict[str, Any] = {
        "identity": plain(launch.identity),
        "framework": launch.framework,
        "entry": plain(launch.entry),
        "surface": launch.surface,
        "place": plain(str(launch.place)),
        "branches": [{"text": plain(b.text), "taken": b.taken, "place": plain(str(b.span))} for b in view.branches],
        "versions": {
            library: {
                "candidates": [str(version) for version in resolved.candidates],
                "pin": _value_data(resolved.pin.value) if resolved.pin is not None else None,
            }
            for library, resolved in sorted(view.versions.items())
        },
        "nodes": _maybe(launch.nodes),
        "gpus_per_node": _maybe(launch.gpus_per_node),
        "world": _maybe(launch.world),
        "environment": {plain(name): _value_data(value) for name, value in _environment(launch)},
        "roles": [_role_data(role) for role in view.roles],
        "reads": sorted(plain(path) for path in launch.reads),
    }
    if why:
        data["why"] = [_reason_data(reason, reason.releases(view.versions)) for reason in view.reasons]
        data["superseded_by"] = view.superseded or None
        data["left_out"] = plain(view.left_out) or None
    return data


def _role_data(role: RoleView) -> dict[str, Any]:
    own = {"world": _value_data(role.world)} if role.world is not None else {}
    return {"name": role.name, **own, "fields": _shown_data(role.fields)}


def _reason_data(reason: Reason, chosen: dict[str, str]) -> dict[str, Any]:
    return {
        "role": reason.role,
        "result": reason.result,
        "told": plain(reason.told),
        "fields": _shown_data(reason.asked),
        "versions": reason.versions | chosen,
        "chosen": chosen,
        "variables": list(reason.variables),
        "habits": reason.habits,
    }


def _shown_data(fields: tuple[Shown, ...]) -> dict[str, Any]:
    """Give each field's value; one that depends on open versions gives a list."""
    return {
        shown.name: _value_data(shown.values[0]) if len(shown.values) == 1 else [_value_data(v) for v in shown.values]
        for shown in fields
    }


def _maybe(value: Value | None) -> dict[str, Any] | None:
    return _value_data(value) if value is not None else None


def _value_data(value: Value) -> dict[str, Any]:
    data: dict[str, Any] = {"state": value.state.value, "data": _plain(value.data)}
    if value.reason:
        data["reason"] = plain(value.reason)
    data["written"] = [plain(str(o.span)) for o in value.origins if o.span is not None]
    notes = [plain(o.note) for o in value.origins if o.note]
    notes += [f"unless overridden: {plain(c)}" for c in dict.fromkeys(o.caveat for o in value.origins) if c]
    if notes:
        data["notes"] = notes
    return data


def _plain(data: Any) -> Any:
    if isinstance(data, str):
        return plain(data)
    if isinstance(data, tuple | list):
        return [_plain(item) for item in data]
    if (isinstance(data, float) and data != data) or data in (float("inf"), float("-inf")):
        return str(data)
    return data
