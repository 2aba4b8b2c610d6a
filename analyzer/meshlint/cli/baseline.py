"""`meshlint baseline`: keep what is known out of what is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from meshlint.cli.common import engine_options, given, settings_for, shared

if TYPE_CHECKING:
    from meshlint.engine.options import Options
    from meshlint.finding import Report
    from meshlint.review.baseline import Entry

USUAL = "meshlint-baseline.txt"
ACTIONS = ("write", "prune", "show")


@click.command(options_metavar="[OPTIONS]")
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="The baseline: that of the settings, else meshlint-baseline.txt.",
)
@click.option("--no-cache", is_flag=True, help="Judge everything anew.")
@shared
def command(action: str, paths: tuple[str, ...], file: Path | None, **values: Any) -> int:
    """Write the findings under PATH into a baseline, take stale entries out of it, or show what it holds.

    `meshlint check --baseline FILE` tells nothing of what the file holds.
    """
    from meshlint.review.baseline import write

    chosen = given(values)
    settings = settings_for(paths, chosen)
    file = file or settings.baseline_file or Path(USUAL)
    if action == "show":
        return _show(load(file))
    if action == "prune" and (paths or values["select"] or values["ignore"]):
        raise click.UsageError("prune judges everything: without PATH, --select and --ignore")
    report = _judged(paths, engine_options(settings, chosen, cache=not values["no_cache"]))
    if action == "write":
        _put(file, write(report.findings))
        click.echo(f"{file}: {_entries(load(file))}", err=True)
        return 0
    return _prune(file, report)


def load(file: Path) -> tuple[Entry, ...]:
    """Read a baseline; what is wrong with it is a usage error."""
    from meshlint.cli.files import text_of
    from meshlint.review.baseline import MAX_BYTES, BaselineError, read

    try:
        return read(text_of(file, MAX_BYTES, "a baseline"), str(file))
    except BaselineError as error:
        raise click.UsageError(str(error)) from None


def _judged(paths: tuple[str, ...], options: Options) -> Report:
    from meshlint.engine.options import UsageError
    from meshlint.engine.run import check

    try:
        return check(paths, options)
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def _show(entries: tuple[Entry, ...]) -> int:
    from meshlint.review.baseline import line

    for entry in entries:
        click.echo(line(entry))
    return 0


def _prune(file: Path, report: Report) -> int:
    from meshlint.review.baseline import HEAD, line, stale

    entries = load(file)
    gone = {(entry.code, entry.fingerprint): entry.count for entry in stale(report, entries)}
    kept = []
    for entry in entries:
        count = entry.count - gone.get((entry.code, entry.fingerprint), 0)
        if count > 0:
            kept.append(type(entry)(entry.path, entry.code, entry.fingerprint, count))
    _put(file, HEAD + "".join(f"{line(entry)}\n" for entry in kept))
    click.echo(f"{file}: {_entries(tuple(kept))}, {sum(gone.values())} stale taken out", err=True)
    return 0


def _put(file: Path, text: str) -> None:
    from meshlint.cli.files import replace_text
    from meshlint.review.baseline import MARK

    replace_text(file, text, MARK)


def _entries(entries: tuple[Entry, ...]) -> str:
    from meshlint.words import plural

    return plural(sum(entry.count for entry in entries), "finding")
