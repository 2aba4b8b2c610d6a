"""`meshlint check`: judge launches."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import click

from meshlint.cli.common import (
    BASELINE,
    COLOR,
    FAIL_LEVEL,
    NO_BASELINE,
    Given,
    WithCommand,
    coloured,
    engine_options,
    given,
    no_launch,
    say,
    settings_for,
    shared,
    ticking,
    versions,
)
from meshlint.cli.fixes import check_fix, show_fixes, write_fixes
from meshlint.finding import Report, Severity
from meshlint.report import FORMATS
from meshlint.settings.model import Settings
from meshlint.words import plural

DIFF_MODES = ("all", "file", "context", "added")


@click.command(cls=WithCommand, options_metavar="[OPTIONS]")
@click.argument("paths", nargs=-1, metavar="[PATH]... | -- COMMAND...")
@shared
@click.option("--format", "form", type=click.Choice(FORMATS), default="full", help="How to print the findings.")
@click.option("--output", "outputs", multiple=True, metavar="FORMAT=FILE", help="Write a format to a file, besides.")
@FAIL_LEVEL
@click.option("--require-launch", is_flag=True, help="Exit with 2 where no launch is found.")
@click.option("--diff", "base", metavar="BASE", help="Tell only what the change since this git revision causes.")
@click.option("--diff-file", metavar="PATCH", help="Tell only what this unified diff causes; `-` reads it from stdin.")
@click.option(
    "--diff-mode",
    type=click.Choice(DIFF_MODES),
    default="all",
    help="Of what a change causes: all, what touches a changed file, a hunk, or an added line.",
)
@click.option(
    "--upgrade",
    multiple=True,
    callback=versions,
    metavar="LIB=VERSION",
    help="Tell what changes verdict where a library moves to this version.",
)
@BASELINE
@NO_BASELINE
@click.option("--fix", is_flag=True, help="Write the safe fixes, and tell what is left.")
@click.option("--fix-dry-run", is_flag=True, help="Print the safe fixes as a diff, and write nothing.")
@click.option("--no-cache", is_flag=True, help="Judge everything anew.")
@click.option("--log", type=click.File("rb"), help="Say of a training log (- for stdin) which groups were built.")
@click.option("--reproduce", is_flag=True, help="Run each finding's reproducer, and say what was seen.")
@click.option("--reproduce-depth", type=click.Choice(["simulate", "cpu", "gpu"]), help="How to run them.")
@click.option("--python", default="", metavar="PROGRAM", help="The Python that has torch, to run them (default: this).")
@click.option("--card", is_flag=True, help="Show the launch cards too, with --format full or markdown.")
@click.option("--verbose", is_flag=True, help="Show for each launch what was not judged, and why.")
@COLOR
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **values: Any) -> int:
    """Judge the launches and the code under PATH (default: this folder), or the command behind `--`.

    Nothing is run: `meshlint check -- torchrun ... pretrain_gpt.py ...` judges that very command in this environment.
    """
    from meshlint.engine.begin import begin
    from meshlint.engine.options import UsageError

    if values["log"] is not None:
        return _log(values["log"])
    # Trees, spans and values hold almost no cycles: walking them over and over costs a third of a run.
    gc.disable()
    begun = ctx.with_resource(begin(paths, Path.cwd(), values["base"]))
    chosen = given(values)
    settings = settings_for(paths, chosen)
    targets = _targets(values["outputs"])
    words = ctx.meta[WithCommand.KEY]
    options = engine_options(settings, chosen, cache=not values["no_cache"], tick=ticking(), begun=begun)
    try:
        if words is not None and paths:
            raise UsageError("give paths, or a command behind `--`, not both")
        if values["fix"] or values["fix_dry_run"]:
            check_fix(words, values)
        if values["card"]:
            _check_card(values)
        if values["upgrade"]:
            return _upgraded(paths, words, options, values)
        report = _judge(paths, words, options, values)
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    whole = _whole(paths, words, chosen, values)
    held = baseline_of(values, settings)
    report = _known(report, held, whole)
    if values["fix_dry_run"]:
        return show_fixes(report, paths, options)
    if values["fix"] and write_fixes(report, paths, options):
        report = _known(_judge(paths, words, options, values), held, whole)
    if values["reproduce"] or values["reproduce_depth"] or values["python"]:
        report = _reproduced(report, values["reproduce_depth"], values["python"])
    _print(report, values["form"], coloured(values["color"]), values["verbose"])
    for form, file in targets:
        _write(report, form, file)
    if values["card"]:
        _cards(paths, words, options, values)
    level = values["fail_level"] or settings.fail_level
    if values["base"] or values["diff_file"]:
        return failed(report, level)
    return _status(report, level, values["require_launch"], words is not None, values["verbose"])


def _judge(paths: tuple[str, ...], words: tuple[str, ...] | None, options: Any, values: dict[str, Any]) -> Report:
    """Judge paths, a command, or what a change causes; raises UsageError."""
    from meshlint.engine.options import UsageError
    from meshlint.engine.run import check, check_command

    base, file = values["base"], values["diff_file"]
    if base is None and file is None:
        return check(paths, options) if words is None else check_command(words, options)
    if base is not None and file is not None:
        raise UsageError("give --diff or --diff-file, not both")
    if words is not None:
        raise UsageError("a change is that of paths, not of a command behind `--`")
    from meshlint.engine.change import Asked, check_change

    return check_change(paths, options, Asked(base or "", patch_text(file), values["diff_mode"]))


def _upgraded(paths: tuple[str, ...], words: tuple[str, ...] | None, options: Any, values: dict[str, Any]) -> int:
    """Tell what changes verdict where pins move; the exit status is that of what would be new or graver."""
    from meshlint.engine.options import UsageError
    from meshlint.engine.upgrade import check_upgrade
    from meshlint.report import upgrade as reports

    if values["base"] or values["diff_file"]:
        raise UsageError("give --upgrade or --diff, not both")
    upgrade = check_upgrade(paths, options, values["upgrade"], words, marking(values, options.settings))
    form, colour = values["form"], coloured(values["color"])
    if form not in reports.FORMATS:
        _print(upgrade.report, form, colour, values["verbose"])
    else:
        say(upgrade.report.notes, reports.render(upgrade, form, colour, values["verbose"]))
    for other, file in _targets(values["outputs"]):
        _write(upgrade.report, other, file, reports.render(upgrade, other) if other in reports.FORMATS else None)
    level = values["fail_level"] or options.settings.fail_level
    return _status(upgrade.report, level, values["require_launch"], words is not None)


CARDS = {"full": "text", "markdown": "markdown"}
"""The formats that cards go with, and the cards' own."""


def _check_card(values: dict[str, Any]) -> None:
    """Refuse what cards do not go with; raises UsageError."""
    from meshlint.engine.options import UsageError

    if values["form"] not in CARDS:
        raise UsageError(
            f"--card goes with --format {' or '.join(CARDS)}; `meshlint card --format json` is for programs"
        )
    if values["base"] or values["diff_file"] or values["upgrade"]:
        raise UsageError("--card shows launches as they are: not with --diff, --diff-file or --upgrade")


def _cards(paths: tuple[str, ...], words: tuple[str, ...] | None, options: Any, values: dict[str, Any]) -> None:
    """Show the cards of the launches that were judged."""
    from meshlint.engine.card import cards
    from meshlint.report.cards import render

    deck = cards(paths, replace(options, tick=None), words, None, marking(values, options.settings))
    lines = render(deck.cards, CARDS[values["form"]], "", coloured(values["color"]), values["verbose"])
    say((), ("", *lines))


def _whole(paths: tuple[str, ...], words: tuple[str, ...] | None, chosen: Given, values: dict[str, Any]) -> bool:
    """Say whether everything was judged, so that what is not found is not there."""
    changed = values["base"] is not None or values["diff_file"] is not None
    return not (paths or words or chosen.select or chosen.ignore or changed)


def baseline_of(values: dict[str, Any], settings: Settings) -> Path | None:
    """Give the baseline that a person named, else that of the settings, unless it is turned off."""
    if values["no_baseline"] and values["baseline"] is not None:
        raise click.UsageError("give --baseline or --no-baseline, not both")
    return None if values["no_baseline"] else values["baseline"] or settings.baseline_file


def marking(values: dict[str, Any], settings: Settings) -> Callable[[Report], Report] | None:
    """Give what marks, in a report of a part, the findings that the baseline in force holds; None without one."""
    held = baseline_of(values, settings)
    return None if held is None else lambda report: known(report, held, whole=False)


def _known(report: Report, file: Path | None, whole: bool) -> Report:
    return report if file is None else known(report, file, whole)


def known(report: Report, file: Path, whole: bool) -> Report:
    """Mark what a baseline holds, and note the entries that a whole run has no finding for."""
    from meshlint.cli.baseline import load
    from meshlint.review.baseline import apply, stale

    entries = load(file)
    gone = [e for e in stale(report, entries) if whole and not report.failures]
    notes = [f"{file}:{e.line}: {e.code} in {e.path} is not found any more; `meshlint baseline prune`" for e in gone]
    return replace(apply(report, entries), notes=(*report.notes, *notes))


def patch_text(file: str | None) -> str | None:
    """Read a diff; raises UsageError where it cannot be read."""
    if file is None:
        return None
    from meshlint.sources.patch import MAX_BYTES  # one byte more shows that there are more

    if file == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1).decode("utf-8", "replace")
    try:
        with Path(file).open("rb") as source:
            return source.read(MAX_BYTES + 1).decode("utf-8", "replace")
    except OSError as error:
        raise click.UsageError(f"--diff-file {file}: it cannot be read: {error.strerror}") from None


def _targets(outputs: tuple[str, ...]) -> list[tuple[str, Path]]:
    targets = []
    for text in outputs:
        form, equals, file = text.partition("=")
        if not equals or not file or form not in FORMATS:
            raise click.UsageError(f"--output wants FORMAT=FILE with one of {', '.join(FORMATS)}, not `{text}`")
        _check_target(Path(file), text)
        targets.append((form, Path(file)))
    return targets


def _check_target(file: Path, text: str) -> None:
    """Refuse, before the run, a file that cannot be written after it; raises UsageError."""
    where = f"--output {text}"
    if file.is_dir():
        raise click.UsageError(f"{where}: `{file}` is a folder")
    if not file.parent.is_dir():
        raise click.UsageError(f"{where}: there is no folder `{file.parent}`")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise click.UsageError(f"{where}: `{file}` cannot be written")


def _log(log: BinaryIO) -> int:
    from meshlint.reproduce.log import groups_in, verdict

    try:
        said, status = verdict(groups_in(log))
    except OSError as error:
        raise click.UsageError(f"--log: `{log.name}` cannot be read: {error.strerror}") from None
    click.echo(said)
    return status


def _reproduced(report: Report, depth: str | None, python: str) -> Report:
    from meshlint.engine.evidence import Evidence
    from meshlint.reproduce.case import Depth
    from meshlint.reproduce.run import Runner

    with Runner(python=python) as runner:
        return Evidence(runner, Depth(depth) if depth else None, ticking()).of(report)


def _print(report: Report, form: str, colour: bool, verbose: bool) -> None:
    from meshlint.report import render

    say(report.notes, render(report, form, colour=colour, verbose=verbose))
    if form == "concise":
        from meshlint.report.concise import coverage_note

        note = coverage_note(report)
        if note:
            click.echo(f"meshlint: {note}", err=True)


def _write(report: Report, form: str, file: Path, lines: Iterable[str] | None = None) -> None:
    """Write a format, or its given lines, to a file; raises UsageError where it cannot be written."""
    from meshlint.report import render

    text = "".join(f"{line}\n" for line in (render(report, form) if lines is None else lines))
    try:
        file.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise click.UsageError(f"`{file}` cannot be written: {error.strerror}") from None


def _tell_failures(report: Report) -> None:
    from meshlint.report.text import clean

    for failure in report.failures:
        click.echo(f"meshlint: internal error: {clean(failure)}", err=True)


def failed(report: Report, fail_level: str) -> int:
    """Give the exit status by the findings alone, and 3 for a fault of meshlint."""
    if report.failures:
        _tell_failures(report)
        return 3
    least = Severity(fail_level).rank
    return int(any(f.severity.rank >= least and f.counts for f in report.findings))


def _status(
    report: Report, fail_level: str, require_launch: bool, of_command: bool = False, verbose: bool = False
) -> int:
    status = failed(report, fail_level)
    if status:
        return status
    if not report.coverage:
        if report.code and not (require_launch or of_command or verbose):
            return 0  # the report says how much code was judged
        looked = "the command behind `--` is no launch that meshlint knows"
        if not of_command:
            looked = no_launch(report.files)
            if report.left_out.get("preview"):
                looked += f"; {plural(report.left_out['preview'], 'rule')} in preview, not judged (--preview)"
        click.echo(f"meshlint: {looked}", err=True)
        return 2 if require_launch else 0
    return 0
