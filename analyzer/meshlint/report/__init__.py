"""Formats: one file each; a report goes in, lines come out."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Report


def render(report: Report, form: str, colour: bool = False, verbose: bool = False) -> Iterator[str]:
    """Give the lines of a report in a format; raises KeyError for one that does not exist."""
    if form == "full":
        from meshlint.report.full import render as full
        from meshlint.report.style import Style

        return full(report, Style(colour), verbose)
    raise KeyError(form)
