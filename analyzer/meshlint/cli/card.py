"""`meshlint card`: what each launch comes to, and whether it may go."""

from __future__ import annotations

from typing import Any

import click

from meshlint import __version__
from meshlint.cli.check import failed, marking
from meshlint.cli.common import (
    BASELINE,
    COLOR,
    FAIL_LEVEL,
    GPUS_PER_NODE,
    NO_BASELINE,
    WithCommand,
    coloured,
    engine_options,
    given,
    no_launch,
    say,
    settings_for,
    shared,
    tell_apart,
    ticking,
)
from meshlint.report.cards import FORMATS


@click.command(cls=WithCommand, options_metavar="[OPTIONS]")
@click.argument("paths", nargs=-1, metavar="[PATH]... | -- COMMAND...")
@shared
@GPUS_PER_NODE
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How to print the cards.")
@FAIL_LEVEL
@BASELINE
@NO_BASELINE
@click.option("--verbose", is_flag=True, help="Show every finding, and everything that stopped a rule.")
@COLOR
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
    options = engine_options(settings, chosen, tick=ticking())
    try:
        if words is not None and paths:
            raise UsageError("give paths, or a command behind `--`, not both")
        deck = cards(paths, options, words, values["gpus_per_node"], marking(values, settings))
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    lines = reports.render(deck.cards, values["form"], __version__, coloured(values["color"]), values["verbose"])
    say(deck.report.notes, lines)
    tell_apart(deck.apart)
    if not deck.cards:
        said = no_launch(deck.report.files) if words is None else "the command behind `--` is no launch that is known"
        click.echo(f"meshlint: {said}", err=True)
    return failed(deck.report, values["fail_level"] or settings.fail_level)
