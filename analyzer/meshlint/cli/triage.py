"""`meshlint triage`: which finding explains a hang, from the dumps of the flight recorder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from meshlint.plain import clean, shown

if TYPE_CHECKING:
    from meshlint.finding import Finding, Report
    from meshlint.reproduce.triage import Parting, Place


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
        _say(*told(parting, read.peers), *_explained(parting, report))
    _say(*_next(found, report, sources))
    return 1


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.buffer.write(shown(line).encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()


def _next(found: tuple[Parting, ...], report: Report, sources: tuple[str, ...]) -> Iterator[str]:
    """Say what to do now."""
    places = [place for parting in found for place in parting.lines()]
    codes = sorted({finding.code for finding in report.findings if _meets(finding, places)})
    for code in codes:
        yield f"next: `meshlint explain {code}` says what to change; `meshlint reproduce {code}` shows it here"
    roots = [Path(source) for source in sources or (".",)]
    files = {place.file for place in places}
    if files and not codes and not any(_lies(root, file) for root in roots for file in files):
        where = " ".join(sources) or "this folder"
        yield f"next: none of these files lies in {where}; name the program's source behind the folder of the dumps"


def _lies(root: Path, file: str) -> bool:
    """Say whether a file of the machine that hung lies at the same place below a root, as far as both go."""
    parts = Path(file).parts[-20:]
    with suppress(OSError, ValueError):
        return any(root.joinpath(*parts[at:]).is_file() for at in range(1, len(parts))) or root.name == parts[-1]
    return False


def _judged(sources: tuple[str, ...]) -> Report:
    from meshlint.engine.options import Options, UsageError
    from meshlint.engine.run import check

    try:
        return check(sources or (".",), Options(select=("COL", "GRP", "PKD001", "PKD007"), preview=True))
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def _explained(parting: Parting, report: Report) -> Iterator[str]:
    places = list(parting.lines())
    matching = [finding for finding in report.findings if _meets(finding, places)]
    near = [finding for finding in report.findings if any(_same_file(finding.span.path, p.file) for p in places)]
    if not matching:
        yield "  no finding of the program's source speaks of these lines"
    for word, findings in (("explained by", matching), ("in the same file,", [] if matching else near)):
        for finding in findings:
            first = finding.message.split("\n")[0]
            yield f"  {word} {finding.code} at {finding.span.path}:{finding.span.line}: {first}"


def _meets(finding: Finding, places: list[Place]) -> bool:
    spans = (finding.span, *(related.span for related in finding.related))
    return any(_same_file(span.path, place.file) and span.line == place.line for span in spans for place in places)


def _same_file(path: str, file: str) -> bool:
    """Say whether a path of the tree and one of the machine that hung can be one file: equal as far as both go."""
    left, right = path.split("/"), file.split("/")
    count = min(len(left), len(right))
    return left[-count:] == right[-count:]
