"""JSON lines: one object a line, each with its `type`: `tool`, `finding` or `coverage`."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Report
from meshlint.report.data import SCHEMA, coverage_data, finding_data, tool_data
from meshlint.report.text import dumps


def render(report: Report) -> Iterator[str]:
    """Give the tool first, then the findings, then the coverage."""
    yield dumps({"type": "tool", "schema": SCHEMA, **tool_data(report)})
    for finding in report.findings:
        yield dumps({"type": "finding", **finding_data(finding)})
    for coverage in report.coverage:
        yield dumps({"type": "coverage", **coverage_data(coverage)})
