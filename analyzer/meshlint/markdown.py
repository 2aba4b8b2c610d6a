"""Markdown in which text from analysed files stands in code spans and fenced blocks alone.

There, no mention, link, image or HTML acts.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.plain import clean, shown


def code(text: str) -> str:
    """Give text as a code span: with more backticks around it than it has in a row."""
    words = clean(text)
    fence = "`" * (longest(words) + 1)
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{fence}{pad}{words}{pad}{fence}"


def fenced(text: str) -> Iterator[str]:
    """Give text as a fenced block, whose fence is longer than any inside."""
    safe = shown(text)
    fence = "`" * max(3, longest(safe) + 1)
    yield f"{fence}text"
    yield from safe.split("\n")
    yield fence


def longest(text: str) -> int:
    """Give the number of backticks that stand in a row, at most."""
    best = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        best = max(best, run)
    return best
