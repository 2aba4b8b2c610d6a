"""`meshlint card`: what each launch comes to, and whether it may go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from meshlint import __version__
from meshlint.cli.check import _colour, _say, _tick, failed, marking
from meshlint.cli.common import WithCommand, engine_options, given, no_launch, settings_for, shared
from meshlint.finding import Severity
from meshlint.report.cards import FORMATS


@click.command(cls=WithCommand, options_metavar="[OPTIONS]")
@click.argument("paths", nargs=-1, metavar="[PATH]... | -- COMMAND...")
@shared
@click.option("--gpus-per-node", type=click.IntRange(1, 1024), help="The GPUs of a node of the cluster.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How to print the cards.")
@click.option("--fail-level", type=click.Choice([s.value for s in Severity]), help="Exit with 1 from this severity on.")
@click.option("--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Tell nothing of what FILE holds.")
@click.option("--no-baseline", is_flag=True, help="Tell also what the baseline of the settings holds.")
@click.option("--verbose", is_flag=True, help="Show every finding, and everything that stopped a rule.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the text.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **values: Any) -> int:
    """Show the launch card of each launch under PATH, or of the command behind `--`: GO or NO-GO, and what it comes to.

    Ranks and their grid, the process groups and which of them cross nodes, layers of each pipeline stage, the batch
    arithmetic, and what lengths are padded to. Nothing is run.
    """
    from meshlint.engine.card import cards
    from meshlint.engine.options import UsageError
    from meshlint.report import cards as reports

    chosen = given(values)
    settings = settings_for(paths, chosen)
    words = ctx.meta[WithCommand.KEY]
    options = engine_options(settings, chosen, tick=_tick())
    try:
        if words is not None and paths:
            raise UsageError("give paths, or a command behind `--`, not both")
        deck = cards(paths, options, words, values["gpus_per_node"], marking(values, settings))
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    lines = reports.render(deck.cards, values["form"], __version__, _colour(values["color"]), values["verbose"])
    _say(deck.report.notes, lines)
    if not deck.cards:
        said = no_launch(deck.report.files) if words is None else "the command behind `--` is no launch that is known"
        click.echo(f"meshlint: {said}", err=True)
    return failed(deck.report, values["fail_level"] or settings.fail_level)
