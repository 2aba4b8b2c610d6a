"""JSON: the whole report as one object."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Report
from meshlint.report.data import report_data
from meshlint.report.text import dumps


def render(report: Report) -> Iterator[str]:
    """Give the object, indented, as ASCII."""
    yield from dumps(report_data(report), 2).split("\n")
