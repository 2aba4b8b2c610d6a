"""Options that several verbs share, and how they become the engine's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

import click

from meshlint.finding import Finding, Severity
from meshlint.records import dataclass
from meshlint.settings.model import Settings

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Given:
    """The shared options as given."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    world_size: int | None = None
    gpu: str = ""
    config: Path | None = None
    isolated: bool = False
    preview: bool = False


class WithCommand(click.Command):
    """A verb that tells what stands behind `--`, a command to judge, from what stands before it."""

    KEY = "meshlint.command"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words behind `--` apart, in `ctx.meta`; None where there is no `--`."""
        ctx.meta[self.KEY] = None
        if "--" in args:
            at = args.index("--")
            ctx.meta[self.KEY] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def assignments(_: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Split each NAME=VALUE at its first `=`."""
    split = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"`{value}` is not of the form NAME=VALUE", param=option)
        split[name] = text
    return split


def versions(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Split each LIB=VERSION; `LIB==VERSION` and `LIB>=VERSION` are taken too, as requirements have them."""
    split = {}
    for name, text in assignments(context, option, values).items():
        operator = name[-1] if name[-1] in "<>!~" else ""
        written = f"{operator}={text}" if operator or text[:1] == "=" != text[1:2] else text
        split[name.removesuffix(operator)] = written
    return split


def variables(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Split each NAME=VALUE, and refuse a name that no variable of the environment has."""
    from meshlint.settings.read import is_variable

    split = assignments(context, option, values)
    for name in split:
        if not is_variable(name):
            raise click.BadParameter(f"no variable of the environment is named `{name}`", param=option)
    return split


def words(values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists given with commas, or several times."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


GPUS_PER_NODE = click.option("--gpus-per-node", type=click.IntRange(1, 1024), help="The GPUs of a node of the cluster.")
FAIL_LEVEL = click.option(
    "--fail-level", type=click.Choice([s.value for s in Severity]), help="Exit with 1 from this severity on."
)
BASELINE = click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Tell nothing of what FILE holds."
)
NO_BASELINE = click.option("--no-baseline", is_flag=True, help="Tell also what the baseline of the settings holds.")
COLOR = click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the text.")
"""Options that several verbs have, each at a place of its own in the help."""


def shared(function: Function) -> Function:
    """Add the options that decide what is judged, and how."""
    options = [
        click.option("--select", multiple=True, metavar="CODES", help="Judge only these rules, such as HCP or CTX001."),
        click.option("--extend-select", multiple=True, metavar="CODES", help="Judge these rules besides."),
        click.option("--ignore", multiple=True, metavar="CODES", help="Leave these rules out."),
        click.option("--preview", is_flag=True, help="Judge rules in preview too."),
        click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave files out, as in a .gitignore."),
        click.option(
            "--pin", "pins", multiple=True, callback=versions, metavar="LIB=VERSION", help="Fix a library's version."
        ),
        click.option(
            "--env",
            "environment",
            multiple=True,
            callback=variables,
            metavar="NAME=VALUE",
            help="Set a variable at launch.",
        ),
        click.option("--world-size", type=click.IntRange(1, 2**31 - 1), help="The number of ranks of every launch."),
        click.option("--gpu", default="", metavar="NAME", help="The GPU of the cluster, such as H100."),
        click.option(
            "--config", type=click.Path(path_type=Path), help="Use this settings file instead of the nearest."
        ),
        click.option("--isolated", is_flag=True, help="Use no settings file."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def given(values: Mapping[str, Any]) -> Given:
    """Gather the shared options out of a verb's parameters."""
    return Given(
        select=words(values["select"]),
        ignore=words(values["ignore"]),
        extend_select=words(values["extend_select"]),
        exclude=values["exclude"],
        pins=values["pins"],
        environment=values["environment"],
        world_size=values["world_size"],
        gpu=values["gpu"],
        config=values["config"],
        isolated=values["isolated"],
        preview=values["preview"],
    )


def settings_for(paths: tuple[str, ...], chosen: Given) -> Settings:
    """Read the settings file in force; what is wrong in it is a usage error."""
    from meshlint.settings.model import SettingsError
    from meshlint.settings.read import find, load, near_miss

    if chosen.isolated:
        return Settings()
    try:
        if chosen.config is not None:
            if not chosen.config.is_file():
                raise click.UsageError(f"there is no settings file `{chosen.config}`")
            return load(chosen.config.resolve())
        start = Path(os.path.realpath(paths[0] if paths else "."))  # which never raises, for a circle of links too
        folder = start if start.is_dir() else start.parent
        missed = near_miss(folder)
        if missed:
            from meshlint.report.text import clean

            click.echo(f"meshlint: {clean(missed)}", err=True)
        file = find(folder)
        return load(file) if file is not None else Settings()
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def engine_options(settings: Settings, chosen: Given, **more: Any) -> Any:
    """Make the engine's options."""
    from meshlint.config.effective import option
    from meshlint.engine.options import Options

    return Options(
        settings=settings,
        select=chosen.select or None,
        extend_select=chosen.extend_select,
        ignore=chosen.ignore,
        exclude=chosen.exclude,
        pins=chosen.pins,
        environment={k: option(v, f"--env {k}={v}") for k, v in chosen.environment.items()},
        world_size=chosen.world_size,
        gpu=chosen.gpu,
        preview=chosen.preview,
        **more,
    )


LOOKED_FOR = (
    "shell scripts that start a training (.sh, .bash, .sbatch, .slurm), YAML configs (functional tests of Megatron-LM; "
    "verl, NeMo-RL, Megatron-Bridge, ROLL, AReaL), and Python recipes and launchers (Megatron-Bridge, NeMo 2, slime)"
)
"""The forms of launches; `docs/surfaces.md` tells more of them."""


def no_launch(files: int | None = None) -> str:
    """Say that nothing was found, in how many files, and what was looked for."""
    from meshlint.words import plural

    if files == 0:
        return f"no launch is in scope: there is no file to look at; meshlint looks for {LOOKED_FOR}"
    where = f"in {plural(files, 'file')} " if files is not None else ""
    return f"no launch is in scope: {where}meshlint looked for {LOOKED_FOR}"


def ticking() -> Any:
    """Give what shows progress on a terminal; None elsewhere."""
    from meshlint.cli.progress import Progress

    return Progress(sys.stderr) if sys.stderr.isatty() else None


def coloured(when: str) -> bool:
    """Say whether to colour the text: by the option, else as the terminal and its user like it."""
    if when == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return when == "always"


def tell_apart(findings: Iterable[Finding]) -> None:
    """Print findings that stand on no launch to the errors, a line each."""
    from meshlint.report.card import place, told

    for finding in findings:
        click.echo(
            f"meshlint: {finding.severity.value} {finding.code} {place(finding.span)}: {told(finding)}", err=True
        )


def say(notes: Iterable[str], lines: Iterable[str]) -> None:
    """Print notes to the errors, and the lines of a report."""
    from meshlint.report.text import clean

    for note in notes:
        click.echo(f"meshlint: {clean(note)}", err=True)
    for line in lines:
        sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
