"""The `meshlint` command: finds the verb, and turns whatever goes wrong into an exit status and one sentence."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NoReturn, TextIO

import click

from meshlint import __version__
from meshlint.cli.stack import with_room
from meshlint.cli.stopping import Stopped, stoppable, stopped_by

VERBS = {
    "baseline": "Keep what is known out of what is told.",
    "card": "Show what each launch comes to, and whether it may go.",
    "check": "Judge the launches and the code under PATH.",
    "config": "Show the effective config of each launch, and where it was written.",
    "diff": "Compare two launches, or one at two revisions.",
    "explain": "Explain a rule.",
    "reproduce": "Show the failure of a rule, on the smallest mesh.",
    "review": "Comment on a pull request what its change causes.",
    "triage": "Say which finding explains a hang, from flight recorder dumps.",
    "rules": "List the rules.",
    "settings": "Show the settings in force, and where each came from.",
}
"""Each verb, in the order of the help, with its line; its module in this room holds a click command `command`."""


class Verbs(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's module."""
        if cmd_name not in VERBS:
            return None
        command = import_module(f"meshlint.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest verb for one that does not exist."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from meshlint.words import meant

            raise click.UsageError(f"there is no verb `{args[0]}`{meant(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.command(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 clean; 1 findings at or above --fail-level; 2 usage or settings; 3 a fault of meshlint.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, asked: _tell_version(ctx) if asked else None,
    help="Show the version and exit.",
)
def group() -> None:
    """Find, before launch, what makes a distributed training run hang, crash late or silently train wrong."""


def _tell_version(ctx: click.Context) -> None:
    mesh = Path(__file__).parents[1] / "mesh"
    compiled = any((mesh / f"term{suffix}").is_file() for suffix in EXTENSION_SUFFIXES)
    click.echo(f"meshlint {__version__}{' (compiled)' if compiled else ''}")
    ctx.exit()


def main() -> None:
    """Run the command line and exit."""
    gc.set_threshold(200_000, 50, 1000)  # a run is short and makes little garbage that only the collector can find
    _open_what_is_closed()
    try:
        with stoppable():
            status = with_room(lambda: run(sys.argv[1:]))
    except Stopped as stopped:
        _say(f"\nmeshlint: {stopped.sentence}\n")
        status = stopped.status
    _leave(status)


def _leave(status: int) -> NoReturn:
    """Exit without giving back every object one by one, which takes a tenth of a run."""
    atexit._run_exitfuncs()
    with suppress(OSError):
        _flush()
    os._exit(status)


def _open_what_is_closed() -> None:
    """Point a standard stream that was closed at nothing: the next file opened would take its place."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)
        sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def run(arguments: list[str]) -> int:
    """Run a command line and give its exit status."""
    try:
        status = group.main(arguments, prog_name="meshlint", standalone_mode=False)
        _flush()
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        _show(error)
        return 2
    except (BrokenPipeError, SystemExit):  # click turns a closed pipe into an exit of its own
        _silence(sys.stdout)
        return 141
    except OSError as error:
        return _broken_output(error)
    except Exception as error:
        stopped = stopped_by(error)
        if stopped is not None:
            raise stopped from None
        return _internal(error)
    return status if isinstance(status, int) else 0


def _show(error: click.ClickException) -> None:
    """Show what a person did wrong; it quotes settings and names of files, which may be anything."""
    from meshlint.report.text import clean

    try:
        click.UsageError(clean(error.format_message()), getattr(error, "ctx", None)).show()
    except OSError:
        _silence(sys.stderr)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


def _silence(stream: TextIO) -> None:
    """Point a standard stream at nothing, so that the interpreter's own last flush stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _broken_output(error: OSError) -> int:
    """Say that the output cannot be written (a full disk); an OSError about a file is a fault of meshlint."""
    if error.filename is not None:
        return _internal(error)
    _silence(sys.stdout)
    _say(f"meshlint: the output cannot be written: {error.strerror}\n")
    return 2


def _say(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def _internal(error: Exception) -> int:
    if os.environ.get("MESHLINT_DEBUG") == "1":
        raise error
    name = type(error).__name__
    sys.stderr.write(
        f"meshlint: internal error ({name}); please report it with the input and the output of "
        "`MESHLINT_DEBUG=1 meshlint ...`, which shows where.\n"
    )
    return 3


if __name__ == "__main__":
    main()
