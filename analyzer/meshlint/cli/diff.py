"""`meshlint diff`: what differs between two launches, or one at two revisions, and what that comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from meshlint import __version__
from meshlint.cli.check import marking
from meshlint.cli.common import (
    BASELINE,
    COLOR,
    FAIL_LEVEL,
    GPUS_PER_NODE,
    NO_BASELINE,
    coloured,
    engine_options,
    given,
    say,
    settings_for,
    shared,
    tell_apart,
)
from meshlint.finding import Severity
from meshlint.report.compare import FORMATS


@click.command(options_metavar="[OPTIONS]")
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@shared
@GPUS_PER_NODE
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How to print the difference.")
@FAIL_LEVEL
@BASELINE
@NO_BASELINE
@click.option("--verbose", is_flag=True, help="Show every setting that differs.")
@COLOR
def command(before: str, after: str | None, **values: Any) -> int:
    """Compare the launches of A with those of B: effective settings, and what their difference comes to.

    A and B are files or folders, each as it is, or as it was at a git revision: REV:PATH. Without B, a REV:PATH is
    compared with PATH as it is. The exit status is that of the findings that B alone has.
    """
    from meshlint.engine.compare import compare
    from meshlint.engine.options import UsageError
    from meshlint.report.compare import render
    from meshlint.report.text import clean

    chosen = given(values)
    try:
        sides = _sides(before, after)
        settings = settings_for((sides[1].rpartition(":")[2],), chosen)
        options = engine_options(settings, chosen)
        found = compare(*sides, options, values["gpus_per_node"], marking(values, settings))
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    say(found.notes, render(found, values["form"], __version__, coloured(values["color"]), values["verbose"]))
    tell_apart(found.apart)
    for failure in found.failures:
        click.echo(f"meshlint: internal error: {clean(failure)}", err=True)
    if found.failures:
        return 3
    if not found.pairs:
        click.echo("meshlint: no launch of one side belongs to a launch of the other", err=True)
    least = Severity(values["fail_level"] or settings.fail_level).rank
    fresh = (*found.apart, *(finding for pair in found.pairs for finding in pair.appear))
    return int(any(finding.severity.rank >= least for finding in fresh))


def _sides(before: str, after: str | None) -> tuple[str, str]:
    """Give both sides; raises UsageError for a lone path without a revision."""
    from meshlint.engine.options import UsageError
    from meshlint.engine.sides import as_it_is

    if after is not None:
        return before, after
    revision, colon, path = before.partition(":")
    if not (revision and colon and path):
        raise UsageError("give two paths, or one at a revision: REV:PATH")
    return before, as_it_is(path, Path.cwd())
