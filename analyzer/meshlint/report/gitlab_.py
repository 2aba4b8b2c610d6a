"""GitLab's code quality report: one JSON array (https://docs.gitlab.com/ci/testing/code_quality/)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshlint.finding import Finding, Report, Severity
from meshlint.report.message import counting, said
from meshlint.report.text import dumps, plain

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> Iterator[str]:
    """Give the array; a fingerprint that several findings share gets their ordinal."""
    seen: dict[str, int] = {}
    yield dumps([_entry(finding, seen) for finding in counting(report)], indent=2)


def _entry(finding: Finding, seen: dict[str, int]) -> dict[str, Any]:
    number = seen[finding.fingerprint] = seen.get(finding.fingerprint, 0) + 1
    return {
        "description": f"{finding.code} {finding.slug}: {said(finding)}",
        "check_name": finding.code,
        "fingerprint": finding.fingerprint if number == 1 else f"{finding.fingerprint}-{number}",
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": plain(finding.span.path),
            "lines": {"begin": finding.span.line, "end": finding.span.end_line},
        },
    }
