"""JSON lines: one object a line, each with its `type`: `tool`, `finding`, `coverage` or `code`."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Report
from meshlint.report.data import SCHEMA, code_data, coverage_data, finding_data, tool_data
from meshlint.report.text import dumps


def render(report: Report) -> Iterator[str]:
    """Give the tool first, then the findings, the coverage, and how far code was judged."""
    yield dumps({"type": "tool", "schema": SCHEMA, **tool_data(report)})
    for finding in report.findings:
        yield dumps({"type": "finding", **finding_data(finding)})
    for coverage in report.coverage:
        yield dumps({"type": "coverage", **coverage_data(coverage)})
    yield dumps({"type": "code", **code_data(report)})
