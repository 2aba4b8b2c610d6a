"""Line numbers in texts that know their place, so that a text can be told again when lines have moved.

While a text is made, each digit of a line number is one sign for itself, of a range that nobody writes: it says which
of the places told it belongs to, and the how manieth digit it is. It is as wide as the digit that it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from meshlint.place import Span

FIRST, LAST = 0xF0000, 0xFFFFD
DIGITS = 8
"""Signs for each place."""
MOST = (LAST - FIRST) // DIGITS
"""Places; those beyond are told in digits."""

Places = dict[tuple[str, int], int]
"""Path and line of what was told, numbered."""

_SIGN = re.compile(f"[{chr(FIRST)}-{chr(LAST)}]")
_ESCAPED = re.compile(r"\\\\|\\ud[b][89ab][0-9a-f]\\ud[c-f][0-9a-f]{2}")
_telling: list[Places] = []


@contextmanager
def known_places() -> Iterator[Places]:
    """Let lines know their place; gives the places that were told."""
    places: Places = {}
    _telling.append(places)
    try:
        yield places
    finally:
        _telling.pop()


def told_line(span: Span) -> str:
    """Give the line of a place as text."""
    digits = str(span.line)
    if not _telling:
        return digits
    number = _telling[-1].setdefault((span.path, span.line), len(_telling[-1]))
    if number >= MOST or len(digits) > DIGITS:
        return digits
    return "".join(chr(FIRST + number * DIGITS + place) for place in range(len(digits)))


def gathered(texts: Sequence[str], places: Places) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """Number the places anew that are told in some texts; give both."""
    known = list(places)
    numbers: dict[int, int] = {}

    def renumbered(match: re.Match[str]) -> str:
        number, place = divmod(ord(match[0]) - FIRST, DIGITS)
        if number >= len(known):
            return match[0]
        return chr(FIRST + numbers.setdefault(number, len(numbers)) * DIGITS + place)

    return tuple(_SIGN.sub(renumbered, text) for text in texts), tuple(Span(*known[number]) for number in numbers)


def spelled(text: str, places: Sequence[Span]) -> str:
    """Give a text in digits."""

    def digit(match: re.Match[str]) -> str:
        number, place = divmod(ord(match[0]) - FIRST, DIGITS)
        digits = str(places[number].line) if number < len(places) else ""
        return digits[place] if place < len(digits) else match[0]

    return _SIGN.sub(digit, text) if places else text


def unescaped(text: str) -> str:
    """Give a text of JSON in which signs stand for themselves."""

    def sign(match: re.Match[str]) -> str:
        if match[0] == r"\\":
            return match[0]
        return match[0].encode("ascii").decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16")

    return _ESCAPED.sub(sign, text) if _telling else text


__all__ = ["Places", "gathered", "known_places", "spelled", "told_line", "unescaped"]
