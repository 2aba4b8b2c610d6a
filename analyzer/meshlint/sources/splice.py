"""Edits made on a text: every byte outside of them stays as it is."""

from __future__ import annotations

from collections.abc import Iterable

from meshlint.finding import Edit


class MisfitError(Exception):
    """Edits that lie outside of the text, or over one another."""


def spliced(text: str, edits: Iterable[Edit]) -> str:
    """Give a text with edits made; lines end with a newline, before which a carriage return may stand.

    Raises MisfitError.
    """
    starts = _starts(text)
    ending = "\r\n" if "\r\n" in text else "\n"
    done, at = [], 0
    for edit in sorted(set(edits), key=lambda e: (e.span, e.text)):
        span = edit.span
        start = _offset(text, starts, span.line, span.column)
        end = _offset(text, starts, span.end_line, span.end_column)
        if not at <= start <= end:
            raise MisfitError(f"an edit at line {span.line} does not fit")
        done += [text[at:start], edit.text.replace("\n", ending)]
        at = end
    return "".join([*done, text[at:]])


def _starts(text: str) -> list[int]:
    starts = [0]
    while (found := text.find("\n", starts[-1])) >= 0:
        starts.append(found + 1)
    return starts


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    """Give where a place lies; the line behind the last one begins where the text ends."""
    if line == len(starts) + 1 and column == 1:
        return len(text)
    if not 0 < line <= len(starts):
        raise MisfitError(f"there is no line {line}")
    start = starts[line - 1]
    stop = starts[line] - 1 if line < len(starts) else len(text)
    if text[start:stop].endswith("\r"):
        stop -= 1
    if not 0 < column <= stop - start + 1:
        raise MisfitError(f"line {line} has no column {column}")
    return start + column - 1
