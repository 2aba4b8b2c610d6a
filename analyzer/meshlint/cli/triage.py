"""`meshlint triage`: which finding explains a hang, from the dumps of the flight recorder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from meshlint.plain import clean, shown

if TYPE_CHECKING:
    from meshlint.finding import Finding, Report
    from meshlint.reproduce.triage import Parting, Place

MOST = 50_000
"""Files that are looked through for those of a dump."""

SURE = 3
"""Names at the end of two paths that make them surely of one file, wherever their trees lie."""


@click.command()
@click.argument("dumps", type=click.Path(path_type=Path))
@click.argument("sources", nargs=-1, metavar="[PATH]...")
def command(dumps: Path, sources: tuple[str, ...]) -> int:
    """Say where the ranks of a hang part, from a folder of flight recorder dumps, and which finding explains it.

    PATH is the program's source (default: this folder). Exit status: 0 where nothing parts, 1 where something does, 2
    where there is nothing to read.
    """
    from meshlint.reproduce.triage import Unreadable, dumps_in, partings, together, told

    try:
        read = dumps_in(dumps)
    except Unreadable as error:
        raise click.UsageError(str(error)) from None
    for sentence in read.left_out:
        click.echo(f"meshlint: left out: {clean(sentence)}", err=True)
    found = partings(read.groups)
    if not found:
        _say("The ranks of every group made the same calls: nothing parts in these dumps.", *together(read))
        return 0
    report = _judged(sources)
    for parting in found:
        _say(*told(parting, read.peers), *_explained(parting, report, sources))
    _say(*_next(found, report, sources))
    return 1


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.buffer.write(shown(line).encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()


def _next(found: tuple[Parting, ...], report: Report, sources: tuple[str, ...]) -> Iterator[str]:
    """Say what to do now."""
    places = [place for parting in found for place in parting.lines()]
    _, findings = _explaining(report, places, sources)
    for finding in findings:
        paths = (Path(finding.span.path), *(Path(source, finding.span.path) for source in sources))
        there = next((path for path in paths if path.exists()), paths[0])
        at = f"{finding.code} --of {there}:{finding.span.line}"
        yield f"next: `meshlint explain {finding.code}` says what to change, and"
        yield f"      `meshlint reproduce {at} --write repro.py` writes a script that shows it"
    names = {place.file.rpartition("/")[2] for place in places}
    if names and not findings and not any(_lies(Path(source), names) for source in sources or (".",)):
        where = " ".join(sources) or "this folder"
        yield f"next: none of these files lies in {where}; name the program's source behind the folder of the dumps"


def _lies(root: Path, names: set[str]) -> bool:
    """Say whether a file of one of these names lies below a root, or may: only so many files are looked at."""
    if root.name in names:
        return True
    seen = 0
    for _, folders, files in os.walk(root):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        seen += len(files)
        if seen > MOST or not names.isdisjoint(files):
            return True
    return False


def _judged(sources: tuple[str, ...]) -> Report:
    from meshlint.engine.options import Options, UsageError
    from meshlint.engine.run import check

    try:
        return check(sources or (".",), Options(select=("COL", "GRP", "PKD001", "PKD007"), preview=True))
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def _explained(parting: Parting, report: Report, sources: tuple[str, ...]) -> Iterator[str]:
    places = list(parting.lines())
    sure, findings = _explaining(report, places, sources)
    near = [finding for finding in report.findings if any(_same(finding.span.path, p.file, sources) for p in places)]
    if not findings:
        yield "  no finding of the program's source speaks of these lines"
    word = "explained by" if sure else "perhaps explained, as the name and line of the file are the same, by"
    for before, those in ((word, findings), ("in the same file,", [] if findings else near)):
        for finding in those:
            first = finding.message.split("\n")[0]
            yield f"  {before} {finding.code} at {finding.span.path}:{finding.span.line}: {first}"


def _explaining(report: Report, places: list[Place], sources: tuple[str, ...]) -> tuple[bool, list[Finding]]:
    """Give the findings that speak of places, and whether these are surely of the same files."""
    for sure in (True, False):
        found = [finding for finding in report.findings if _meets(finding, places, sources, sure)]
        if found:
            return sure, found
    return False, []


def _meets(finding: Finding, places: list[Place], sources: tuple[str, ...], sure: bool) -> bool:
    spans = (finding.span, *(related.span for related in finding.related))
    return any(
        span.line == place.line
        and (_same(span.path, place.file, sources) if sure else _tail(span.path, place.file) > 0)
        for span in spans
        for place in places
    )


def _same(path: str, file: str, sources: tuple[str, ...]) -> bool:
    """Say whether a path of the tree and one of the machine that hung are of one file.

    They are where they end alike, from the folder on that was named: the tree may lie elsewhere on that machine.
    """
    parts = path.split("/")
    below = [len(parts)]
    for source in sources:
        root, there = Path(source).absolute(), Path(path).absolute()
        if there.is_relative_to(root):
            below.append(len(there.relative_to(root).parts))
    least = max(1, min([*below, len(file.split("/")), SURE]))
    return _tail(path, file) >= least


def _tail(path: str, file: str) -> int:
    """Count the names at the end of two paths that are the same."""
    pairs = zip(reversed(path.split("/")), reversed(file.split("/")), strict=False)
    return next((count for count, (left, right) in enumerate(pairs) if left != right), len(path.split("/")))
