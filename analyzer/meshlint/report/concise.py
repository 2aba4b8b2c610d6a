"""Concise text: one line a finding."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Report
from meshlint.report.style import Style
from meshlint.report.text import causes, judged_share, line_start, lines
from meshlint.words import plural


def render(report: Report, style: Style, verbose: bool = False) -> Iterator[str]:
    """Give `path:line:column: severity CODE message (launches)` for each finding that counts."""
    for finding in report.findings:
        if not finding.counts:
            continue
        span, severity = finding.span, finding.severity.value
        place = style("place", f"{line_start(span.path)}:{span.line}:{span.column}")
        several = f" ({len(finding.launches)} launches)" if len(finding.launches) > 1 else ""
        yield f"{place}: {style(severity, severity)} {finding.code} {lines(finding.message)[0]}{several}"


def coverage_note(report: Report) -> str:
    """Give one line on the rules that were not judged, for stderr; empty where all were."""
    stopped = [one for one in report.coverage if one.not_judged]
    if not stopped:
        return ""
    of = plural(len(report.coverage), "launch")
    where = of if len(stopped) == len(report.coverage) else f"{len(stopped)} of {of}"
    first, *others = causes(stopped)
    more = f"; {len(others)} more: --format full" if others else ""
    return f"in {where} {judged_share(stopped)}, most often for want of {first}{more}"
