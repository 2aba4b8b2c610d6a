"""A finding as lines of text, for formats that show one message a finding."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Finding, Report
from meshlint.plain import plain, plain_lines
from meshlint.plain import shown as shown


def counting(report: Report) -> Iterator[Finding]:
    """Give the findings that count: neither suppressed nor in the baseline."""
    return (finding for finding in report.findings if finding.counts)


def said(finding: Finding) -> str:
    """Give the message, the places that took part, the fix, and how many launches it breaks; each on a line."""
    told = [plain_lines(finding.message)]
    told += [f"{plain(r.span.path)}:{r.span.line}: {plain(r.label)}" for r in finding.related]
    told += [plain(given) for given in finding.given]
    if finding.fix is not None:
        told.append(f"Fix: {plain(finding.fix.description)}")
    if len(finding.launches) > 1:
        told.append(f"{len(finding.launches)} launches")
    return "\n".join(told)
