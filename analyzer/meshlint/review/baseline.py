"""Baselines: findings that are known and not to be told again, by fingerprint.

One line an entry, sorted, made to be reviewed and merged: `CODE FINGERPRINT PATH`, with ` xN` after the fingerprint
where N findings share it. Fingerprints hold no line numbers, so that an entry stays with its finding while code moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from meshlint.finding import Finding, Report
from meshlint.records import dataclass

NAME = "meshlint-baseline.txt"
MARK = "# meshlint baseline 1"
"""How a baseline begins; a colon, a blank or the end of the line follows."""
HEAD = f"{MARK}: CODE FINGERPRINT PATH; `meshlint baseline prune` takes stale entries out\n"
MAX_BYTES = 16 * 1024 * 1024


class BaselineError(Exception):
    """A baseline that cannot be read; the message is one sentence with file and line."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """Findings that are known: `count` with one code, fingerprint and path; `line` is where it stands in the file."""

    path: str
    code: str
    fingerprint: str
    count: int = 1
    line: int = 0


def read(text: str, name: str) -> tuple[Entry, ...]:
    """Read a baseline; `name` is the file's, for errors. Raises BaselineError."""
    lines = text.replace("\r\n", "\n").split("\n")  # a path may hold any other separator
    if not lines[0].startswith(MARK) or lines[0].removeprefix(MARK)[:1] not in ("", ":", " "):
        raise BaselineError(f"{name}:1: this is not a baseline of meshlint, which begins with `{MARK}`")
    entries: dict[tuple[str, str], Entry] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            entry = _entry(line, number, name)
            known = entries.get((entry.code, entry.fingerprint))
            count = entry.count + (known.count if known is not None else 0)
            entries[entry.code, entry.fingerprint] = replace(entry, count=count)
    return tuple(sorted(entries.values()))


def _entry(line: str, number: int, name: str) -> Entry:
    head, _, path = line.partition("\t")
    words = head.split()
    count = words[2][1:] if len(words) == 3 and words[2][:1] == "x" else "1"
    if len(words) not in (2, 3) or not path or not count.isdecimal() or len(count) > 6 or int(count) < 1:
        raise BaselineError(f"{name}:{number}: an entry is `CODE FINGERPRINT`, a tab and a path")
    return Entry(path, words[0], words[1], int(count), number)


def write(findings: Iterable[Finding]) -> str:
    """Give the text of a baseline that holds the findings, without the suppressed ones."""
    counts: Counter[tuple[str, str]] = Counter()
    paths: dict[tuple[str, str], str] = {}
    for finding in findings:
        if not finding.suppressed:
            key = (finding.code, finding.fingerprint)
            counts[key] += 1
            paths.setdefault(key, finding.span.path)
    entries = sorted(Entry(paths[key], *key, count) for key, count in counts.items())
    return HEAD + "".join(f"{line(entry)}\n" for entry in entries)


def line(entry: Entry) -> str:
    """Give the line of an entry."""
    times = f" x{entry.count}" if entry.count > 1 else ""
    path = entry.path.encode("unicode_escape").decode("ascii") if not entry.path.isprintable() else entry.path
    return f"{entry.code} {entry.fingerprint}{times}\t{path}"


def apply(report: Report, entries: Iterable[Entry]) -> Report:
    """Mark the findings that a baseline holds."""
    left = Counter({(entry.code, entry.fingerprint): entry.count for entry in entries})
    return replace(report, findings=tuple(_marked(report.findings, left)))


def _marked(findings: Iterable[Finding], left: Counter[tuple[str, str]]) -> Iterator[Finding]:
    for finding in findings:
        key = (finding.code, finding.fingerprint)
        known = left[key] > 0 and not finding.suppressed
        if known:
            left[key] -= 1
        yield replace(finding, baselined=known)


def stale(report: Report, entries: Iterable[Entry]) -> list[Entry]:
    """Give the entries that no finding of a whole run needs any more, each with how often it is too much.

    An entry whose rule an unknown stopped stays: nothing says that its finding is gone.
    """
    found = Counter((finding.code, finding.fingerprint) for finding in report.findings if not finding.suppressed)
    over = ((entry, entry.count - found[entry.code, entry.fingerprint]) for entry in entries)
    stopped = {(launch.launch.span.path, stop.code) for launch in report.coverage for stop in launch.not_judged}
    starts = {launch.launch.span.path for launch in report.coverage}
    anywhere = {code for _, code in stopped}
    return [
        replace(entry, count=count)
        for entry, count in over
        if count > 0
        and (entry.path, entry.code) not in stopped
        and (entry.path in starts or entry.code not in anywhere)  # who reads a base file is not known here
    ]
