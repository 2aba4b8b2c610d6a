"""`meshlint reproduce`: show the failure of a rule."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from meshlint.plain import clean, harmless, in_source

if TYPE_CHECKING:
    from meshlint.engine.shown import Shown
    from meshlint.reproduce.case import Case, Depth, Reproducer
    from meshlint.reproduce.run import Runner
    from meshlint.reproduce.script import Found
    from meshlint.reproduce.verdict import Verdict
    from meshlint.rule import Rule

DEPTHS = ("simulate", "cpu", "gpu")


@click.command()
@click.argument("code")
@click.option("--of", "place", metavar="PATH[:LINE]", help="Show this finding of the rule: its own calls, sizes, mesh.")
@click.option("--tree", metavar="FOLDER", default="", help="With --of: judge this folder, and PATH as a part of it.")
@click.option("--depth", type=click.Choice(DEPTHS), help="How to run it (default: the deepest this machine has).")
@click.option("--case", "names", multiple=True, metavar="NAME", help="Run only this case.")
@click.option("--nproc", type=click.IntRange(1, 4096), help="Run on this many ranks.")
@click.option("--timeout", type=click.IntRange(5, 86_400), default=120, help="Seconds that one arm may take.")
@click.option("--python", default="", metavar="PROGRAM", help="The Python that has torch (default: this one).")
@click.option("--share-gpus", "share", is_flag=True, help="Let ranks share GPUs where there are fewer (slow).")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option(
    "--write",
    "file",
    type=click.Path(path_type=Path),
    help="Write a case as a script for torchrun instead; `-` prints it.",
)
def command(
    code: str,
    place: str | None,
    tree: str,
    depth: str | None,
    names: tuple[str, ...],
    nproc: int | None,
    timeout: int,
    python: str,
    share: bool,
    as_json: bool,
    file: Path | None,
) -> int:
    """Show the failure of a rule, by its code or slug: run a failing arm and a fixed one on the smallest mesh.

    Exit status: 0 only where every failing arm fails as the rule says and every fixed arm is right; 1 otherwise, also
    where an arm could not be run; 2 for a fault of use.
    """
    from meshlint.reproduce.run import Runner

    rule, reproducer = _rule(code)
    found = None
    if place is not None:
        found = _found(rule, place, tree)
        reproducer = found.reproducer
    elif tree:
        raise click.UsageError("--tree goes with --of, which names the finding")
    _known(reproducer, names)
    if file is not None:
        return _write(rule, _case(reproducer, names, depth), file, found)
    needs = tuple(sorted({module for case in reproducer.cases for module in case.needs}))
    with Runner(python=python, timeout=float(timeout), share=share, modules=needs) as runner:
        verdict = runner.run(reproducer, _depth(runner, reproducer, depth), nproc, names)
    _print(verdict, rule, as_json)
    return 0 if verdict.shown else 1


def _found(rule: type[Rule], place: str, tree: str) -> Shown:
    """Find the one finding of a rule at a place, and tell by what it is shown."""
    from meshlint.cli.common import Given, engine_options, settings_for
    from meshlint.engine.options import UsageError
    from meshlint.engine.reproducers import reproducer_of
    from meshlint.engine.shown import finding_at, shown, split

    paths = (tree or split(place)[0],)
    chosen = Given(extend_select=(rule.code,), preview=True)
    try:
        finding = finding_at(rule.code, place, engine_options(settings_for(paths, chosen), chosen), tree)
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    found = shown(finding, reproducer_of(rule))
    assert found is not None  # of a rule that has a reproducer
    at = f"{finding.span.path}:{finding.span.line}"
    click.echo(f"meshlint: {rule.code} at {clean(at)}, shown by {clean(found.told)}", err=True)
    return found


def _rule(code: str) -> tuple[type[Rule], Reproducer]:
    from meshlint.engine.reproducers import reproducer_of
    from meshlint.engine.ruleset import load, nearest

    rules = load()
    rule = next((rule for rule in rules if code.upper() == rule.code or code == rule.slug), None)
    if rule is None:
        raise click.UsageError(f"there is no rule `{code}`{nearest(rules, code)}")
    reproducer = reproducer_of(rule)
    if reproducer is None:
        raise click.UsageError(f"{rule.code} has no reproducer")
    return rule, reproducer


def _known(reproducer: Reproducer, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in reproducer.names():
            there = ", ".join(reproducer.names()) or "none"
            raise click.UsageError(f"{reproducer.code} has no case `{name}`; there are: {there}")


def _case(reproducer: Reproducer, names: tuple[str, ...], depth: str | None) -> Case:
    """Give the case to write: the first asked for, at the depth asked for or else in the shape that runs deepest."""
    from meshlint.reproduce.case import Depth

    asked = [case for case in reproducer.cases if not names or case.name in names]
    cases = [case for case in asked if depth is None or Depth(depth) in case.depths]
    if not cases:
        at = f" at depth {depth}" if asked else ""
        raise click.UsageError(f"{reproducer.code} has no case to write{at}: {reproducer.missing or 'see --case'}")
    if depth is not None:
        return cases[0]
    first = [case for case in cases if case.name == cases[0].name]
    return next((case for depth in reversed(tuple(Depth)) for case in first if depth in case.depths), first[0])


def _depth(runner: Runner, reproducer: Reproducer, asked: str | None) -> Depth:
    from meshlint.reproduce.case import Depth

    return Depth(asked) if asked else runner.deepest(reproducer)


def _write(rule: type[Rule], case: Case, file: Path, of: Shown | None = None) -> int:
    from meshlint.reproduce.script import needed, written

    text = written(
        case,
        f"{rule.code} {rule.slug}",
        file="repro.py" if str(file) == "-" else file.name,
        of=None if of is None else _place(of),
    )
    if file.name in ("", ".."):
        raise click.UsageError(f"`{file}` cannot be written: it names no file")
    try:
        put(file, text)
    except OSError as error:
        raise click.UsageError(f"`{file}` cannot be written: {error.strerror}") from None
    needs = needed(case)
    lines = f"{len(text.splitlines())} lines{f'; it needs {needs}' if needs else ''}"
    click.echo(f"meshlint: wrote {'to standard output' if str(file) == '-' else clean(str(file))} ({lines})", err=True)
    return 0


def _place(shown: Shown) -> Found:
    """Name the place of a finding and the page of its rule in a text; file names may hold anything."""
    from meshlint.reproduce.script import Found

    span = shown.finding.span
    path = in_source(span.path, without='"\\`')
    return Found(f"{path}:{span.line}", f"docs/{shown.finding.rule_url} of meshlint", shown.told if shown.own else "")


def put(file: Path, text: str) -> None:
    """Write a file whole or not at all; what is no plain file, such as a device or a pipe, is written into.

    `-` is standard output.
    """
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    if file.exists() and not file.is_file() and not file.is_dir():
        file.write_text(text, "utf-8")
        return
    target = file.resolve()  # behind a link, which stays
    part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    try:
        part.write_text(text, "utf-8")
        if target.is_file():
            part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _print(verdict: Verdict, rule: type[Rule], as_json: bool) -> None:
    from meshlint import __version__
    from meshlint.reproduce.verdict import text, to_json

    if as_json:
        import json

        click.echo(json.dumps(to_json(verdict, rule.slug, __version__), indent=2))
        return
    for line in text(verdict, rule.slug):
        sys.stdout.buffer.write(harmless(clean(line)).encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
