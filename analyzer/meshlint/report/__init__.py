"""Formats: one file each; a report goes in, lines come out."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Report

FORMATS = (
    "full",
    "concise",
    "json",
    "jsonl",
    "sarif",
    "github",
    "markdown",
    "gitlab",
    "junit",
    "rdjson",
    "azure",
)


def render(report: Report, form: str, colour: bool = False, verbose: bool = False) -> Iterator[str]:
    """Give the lines of a report in a format; raises KeyError for one that does not exist.

    `colour` and `verbose` are for people: the formats for machines always say everything, without colour.
    """
    from importlib import import_module

    if form not in FORMATS:
        raise KeyError(form)
    lines: Iterator[str]
    if form in ("full", "concise"):
        from meshlint.report.style import Style
        from meshlint.report.text import harmless

        lines = map(harmless, import_module(f"meshlint.report.{form}").render(report, Style(colour), verbose))
    else:
        lines = import_module(f"meshlint.report.{form}_").render(report)
    yield from lines
