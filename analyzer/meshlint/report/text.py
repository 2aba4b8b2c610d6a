"""Text from analysed files, made safe to show: no escape sequence, no direction override, no lone surrogate."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from meshlint.finding import Coverage
from meshlint.words import plural

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def clean(text: str) -> str:
    """Give text of one line with every control or invisible character spelt out (`\\x1b`, `\\u202e`).

    Bytes of file names that are not UTF-8 come out as `\\xNN`. A tab becomes a space.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def lines(text: str) -> list[str]:
    """Give text of several lines, each made safe."""
    return [clean(line) for line in text.split("\n")]


def _shown(char: str) -> str:
    if char == "\t":
        return " "
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(char) not in _HIDDEN:
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def judged_share(coverage: Sequence[Coverage]) -> str:
    """Give `22 of 24 rules judged, 2 not`; ranges where launches differ."""
    total = max(len(one.judged) + len(one.not_judged) for one in coverage)
    judged, stopped = ([len(getattr(one, name)) for one in coverage] for name in ("judged", "not_judged"))
    return f"{_range(judged)} of {plural(total, 'rule')} judged, {_range(stopped)} not"


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
