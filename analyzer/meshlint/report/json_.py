"""JSON: the whole report as one object."""

from __future__ import annotations

import json
from collections.abc import Iterator

from meshlint.finding import Report
from meshlint.report.data import report_data


def render(report: Report) -> Iterator[str]:
    """Give the object, indented, as ASCII."""
    yield from json.dumps(report_data(report), indent=2).split("\n")
