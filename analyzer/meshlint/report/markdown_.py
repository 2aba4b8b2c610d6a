"""Markdown for people on a code host: a job's summary, a comment.

Text from analysed files stands in code spans and fenced blocks alone, in which no mention, link, image or HTML acts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meshlint.finding import Finding, Report
from meshlint.markdown import code, fenced
from meshlint.plain import clean
from meshlint.report.message import counting
from meshlint.words import plural

MOST = 50
"""Findings shown in full; the others are counted."""
LONGEST = 5_000
"""Characters of each part of one."""
MAX_BYTES = 900_000
"""Bytes of all together: GitHub takes a job's summary of 1 MiB at most."""


def render(report: Report) -> Iterator[str]:
    """Give a heading with the counts, then the findings."""
    findings = list(counting(report))
    yield f"## meshlint: {_counts(findings)}"
    shown, size = 0, 0
    for finding in findings[:MOST]:
        rows = ["", *section(finding, report.sources)]
        size += sum(len(row.encode("utf-8", "replace")) + 1 for row in rows)
        if size > MAX_BYTES:
            break
        yield from rows
        shown += 1
    if len(findings) > shown:
        yield ""
        yield f"{plural(len(findings) - shown, 'finding')} more are not shown here."


def _counts(findings: list[Finding]) -> str:
    counts = [(kind, sum(f.severity.value == kind for f in findings)) for kind in ("error", "warning", "info")]
    return ", ".join(plural(number, kind) for kind, number in counts if number) or "no findings"


def section(finding: Finding, sources: Mapping[str, str]) -> Iterator[str]:
    """Give one finding: what it is, where, the lines that took part, and the fix."""
    span = finding.span
    yield f"### {finding.severity.value} {finding.code} {finding.slug}"
    yield ""
    yield f"{code(f'{span.path}:{span.line}')}"
    yield ""
    yield from fenced(finding.message[:LONGEST])
    rows = list(_lines(finding, sources))
    yield ""
    yield from fenced("\n".join(rows)[:LONGEST])
    if finding.fix is not None:
        yield ""
        yield f"Fix: {code(finding.fix.description[:LONGEST])}"
    if len(finding.launches) > 1:
        yield ""
        yield f"It breaks {plural(len(finding.launches), 'launch')}."


def _lines(finding: Finding, sources: Mapping[str, str]) -> Iterator[str]:
    places = [(finding.span, ""), *((related.span, related.label) for related in finding.related)]
    for span, label in places:
        rows = sources.get(span.path, "").split("\n")
        text = rows[span.line - 1].strip() if 0 < span.line <= len(rows) else ""
        note = f"    <- {clean(label)}" if label else ""
        yield f"{clean(span.path)}:{span.line}: {clean(text)[:160]}{note}"
