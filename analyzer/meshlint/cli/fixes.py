"""The fixing half of `meshlint check`: safe fixes shown as a diff, or written."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from meshlint.words import plural

if TYPE_CHECKING:
    from meshlint.engine.fix import Plan
    from meshlint.engine.options import Options
    from meshlint.finding import Report

MOST_NAMED = 10
"""Files that are named in what is told of fixes."""


def check_fix(words: Sequence[str] | None, values: Mapping[str, Any]) -> None:
    """Refuse to fix what has no file, or what a diff would not fit any more; raises UsageError."""
    from meshlint.engine.options import UsageError

    option = "--fix" if values["fix"] else "--fix-dry-run"
    if values["fix"] and values["fix_dry_run"]:
        raise UsageError("give --fix or --fix-dry-run, not both")
    if words is not None:
        raise UsageError(f"{option} is about files, and a command behind `--` is none")
    other = next((name for name in ("diff_file", "upgrade") if values[name]), "")
    if other:
        raise UsageError(f"give {option} or --{other.replace('_', '-')}, not both")


def show_fixes(report: Report, paths: Sequence[str], options: Options) -> int:
    """Print the safe fixes as a diff; the exit status is 1 where there are any."""
    from meshlint.engine.fix import as_diff, plan

    made = plan(report, paths, options)
    for row in as_diff(made):
        sys.stdout.buffer.write(row.encode("utf-8", "surrogateescape") + b"\n")
    sys.stdout.flush()
    _tell_left(made)
    _tell(len(made.fixed), [one.path for one in made.files], "would be fixed")
    return int(bool(made.files))


def write_fixes(report: Report, paths: Sequence[str], options: Options) -> bool:
    """Write the safe fixes; say whether anything was written."""
    from meshlint.engine.fix import plan, write

    made = plan(report, paths, options)
    refused = dict(write(made))
    _tell_left(made)
    for sentence in refused.values():
        click.echo(f"meshlint: not fixed: {_clean(sentence)}", err=True)
    done = [one.path for one in made.files if one.path not in refused]
    _tell(sum(not set(paths_of) & set(refused) for paths_of in _paths(made)), done, "fixed")
    return bool(done)


def _paths(made: Plan) -> Iterable[list[str]]:
    return ([edit.span.path for edit in f.fix.edits] for f in made.fixed if f.fix is not None)


def _tell_left(made: Plan) -> None:
    for finding, why in made.left:
        place = f"{finding.span.path}:{finding.span.line}"
        click.echo(f"meshlint: not fixed: {_clean(place)}: {finding.code}: {_clean(why)}", err=True)


def _tell(count: int, files: Sequence[str], what: str) -> None:
    if count:
        more = f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
        shown = _clean(", ".join(files[:MOST_NAMED]))
        click.echo(f"meshlint: {plural(count, 'finding')} {what}: {shown}{more}", err=True)


def _clean(text: str) -> str:
    from meshlint.report.text import clean

    return clean(text)
