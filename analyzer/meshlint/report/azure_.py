"""Logging commands of Azure Pipelines: issues of the build, with their place."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Finding, Report, Severity
from meshlint.report.message import counting, said, shown
from meshlint.report.text import clean


def render(report: Report) -> Iterator[str]:
    """Give one command a finding; there are errors and warnings only, and an info is a warning."""
    for finding in counting(report):
        yield _command(finding)


def _command(finding: Finding) -> str:
    kind = "error" if finding.severity is Severity.ERROR else "warning"
    properties = {
        "type": kind,
        "sourcepath": finding.span.path,
        "linenumber": str(finding.span.line),
        "columnnumber": str(finding.span.column),
        "code": finding.code,
    }
    given = ";".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"##vso[task.logissue {given}]{_data(f'{finding.slug}: {shown(said(finding))}')}"


def _data(text: str) -> str:
    """Escape as the agent undoes it (Microsoft.VisualStudio.Services.Agent, CommandStringConvertor)."""
    return text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(";", "%3B").replace("]", "%5D")
