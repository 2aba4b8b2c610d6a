"""Concise text: one line a finding."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Report
from meshlint.report.style import Style
from meshlint.report.text import clean, lines


def render(report: Report, style: Style, verbose: bool = False) -> Iterator[str]:
    """Give `path:line:column: severity CODE message (launches)` for each finding that counts."""
    for finding in report.findings:
        if finding.suppressed or finding.baselined:
            continue
        span, severity = finding.span, finding.severity.value
        place = style("place", f"{clean(span.path)}:{span.line}:{span.column}")
        several = f" ({len(finding.launches)} launches)" if len(finding.launches) > 1 else ""
        yield f"{place}: {style(severity, severity)} {finding.code} {lines(finding.message)[0]}{several}"
