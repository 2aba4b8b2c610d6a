"""JUnit XML: a suite with a failed case for each finding, for CI servers that show tests."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from meshlint.finding import Finding, Report, Severity
from meshlint.report.message import counting, said, shown
from meshlint.report.text import clean


def render(report: Report) -> Iterator[str]:
    """Give the document; a run without findings is one case that passed, since servers take no case for a fault."""
    findings = list(counting(report))
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    failed = sum(f.severity is not Severity.INFO for f in findings)
    counts = f'tests="{max(len(findings), 1)}" failures="{failed}" errors="0"'
    yield f'<testsuites name="meshlint" {counts}>'
    yield f'  <testsuite name="meshlint" {counts}>'
    for finding in findings:
        yield from _case(finding)
    if not findings:
        yield '    <testcase classname="meshlint" name="no findings"/>'
    yield "  </testsuite>"
    yield "</testsuites>"


def _case(finding: Finding) -> Iterator[str]:
    span = finding.span
    name = f"{finding.code} {finding.slug}, line {span.line}"
    path = quoteattr(clean(span.path))
    yield f'    <testcase classname={path} file={path} line="{span.line}" name={quoteattr(name)}>'
    text = escape(shown(f"{span.path}:{span.line}:{span.column}: {finding.severity.value}\n{said(finding)}"))
    if finding.severity is Severity.INFO:
        yield f"      <system-out>{text}</system-out>"
    else:
        yield f"      <failure type={quoteattr(finding.code)} message={quoteattr(name)}>{text}</failure>"
    yield "    </testcase>"
