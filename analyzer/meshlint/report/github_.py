"""Workflow commands of GitHub Actions: annotations without any token."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Finding, Report, Severity
from meshlint.report.message import counting, said
from meshlint.report.text import plain

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> Iterator[str]:
    """Give one command a finding that counts."""
    for finding in counting(report):
        yield _command(finding)


def _command(finding: Finding) -> str:
    span = finding.span
    properties = {
        "file": span.path,
        "line": str(span.line),
        "endLine": str(span.end_line),
        "col": str(span.column),
        "endColumn": str(span.end_column),
        "title": f"{finding.code} {finding.slug}",
    }
    if span.end_line != span.line:
        del properties["col"], properties["endColumn"]  # columns count only on one line
    shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {shown}::{_data(said(finding))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(plain(text)).replace(":", "%3A").replace(",", "%2C")
