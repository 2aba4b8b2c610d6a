"""Reviewdog's diagnostic format (rdjson): one object, with suggestions where a fix is safe.

Columns count UTF-8 bytes there (proto/rdf/reviewdog.proto of reviewdog).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from meshlint.finding import Finding, Report, Severity
from meshlint.place import Span
from meshlint.report.message import counting, said
from meshlint.report.text import dumps, plain

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(report: Report) -> Iterator[str]:
    """Give the object."""
    yield dumps(
        {"source": {"name": "meshlint"}, "diagnostics": [_diagnostic(f, report.sources) for f in counting(report)]},
        indent=2,
    )


def _diagnostic(finding: Finding, sources: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "message": f"{finding.slug}: {said(finding)}",
        "location": {"path": plain(finding.span.path), "range": _range(finding.span, sources)},
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    fix = finding.fix
    if fix is not None and fix.safe and fix.edits and all(e.span.path == finding.span.path for e in fix.edits):
        made["suggestions"] = [{"range": _range(e.span, sources), "text": e.text} for e in fix.edits]
    return made


def _range(span: Span, sources: Mapping[str, str]) -> dict[str, Any]:
    lines = sources.get(span.path, "").split("\n")
    return {
        "start": {"line": span.line, "column": _bytes(lines, span.line, span.column)},
        "end": {"line": span.end_line, "column": _bytes(lines, span.end_line, span.end_column)},
    }


def _bytes(lines: list[str], line: int, column: int) -> int:
    text = lines[line - 1][: column - 1] if 0 < line <= len(lines) else ""
    return len(text.encode("utf-8", "surrogatepass")) + 1 if text else column
