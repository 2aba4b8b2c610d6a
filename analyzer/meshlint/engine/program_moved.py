"""What was found, told again where lines have moved: as it was, but with every line where it is now.

Found things are plain data here, as the store keeps them. What names a line that may be another one now, or in a text
that does not know its places, is not told again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from meshlint.protocol.lineage import Lines
from meshlint.records import dataclass

_LINE = re.compile(r"line \d")
_NOTE = re.compile(r":(\d+): ")


class Uncertain(Exception):  # noqa: N818 - no error: it is worked out anew
    """A line of which it is not known where it is now."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A file of which lines may have moved, where they are now if that is known, and the questions about its bodies."""

    path: str
    lines: Lines
    bodies: frozenset[int]

    def told_again(self, value: Any, numbers: Iterable[int]) -> Any:
        """Give something that was found with the lines of the file as they are now; raises Uncertain."""
        texts: list[str] = []
        found = self._moved(value, texts)
        if found is not value or not self.bodies.isdisjoint(numbers):
            self._check(texts, found is not value)
        return found

    def _moved(self, value: Any, texts: list[str]) -> Any:
        """Give the same with other lines; the very same where none is another one. `texts` takes in all texts."""
        if isinstance(value, str):
            return self._text(value, texts)
        if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[1], list):
            return value
        kind, items = value
        if kind == "Span":
            return self._span(value)
        found = [self._moved(item, texts) for item in items]
        if all(one is other for one, other in zip(found, items, strict=True)):
            return value
        return (kind, found)

    def _text(self, text: str, texts: list[str]) -> str:
        """Give a text; one that begins with its place is a note, and is told of the line as it is now."""
        note = _NOTE.match(text, len(self.path)) if text.startswith(self.path) else None
        if note is None:
            texts.append(text)
            return text
        line = self.lines.now(int(note[1]))
        if line is None:
            raise Uncertain
        return text if str(line) == note[1] else f"{self.path}:{line}: {text[note.end() :]}"

    def _span(self, value: Any) -> Any:
        path, line, column, end_line, end_column = value[1]
        if path != self.path:
            return value
        begin, end = self.lines.now(line), self.lines.now(end_line)
        if begin is None or end is None or len(str(begin)) != len(str(line)):
            raise Uncertain
        return ("Span", [path, begin, column, end, end_column])

    def _check(self, texts: list[str], named: bool) -> None:
        """Look for lines in digits, which know no place."""
        short = re.escape(self.path.rpartition("/")[2])
        name = re.sub(r"[^0-9A-Za-z]", "_", self.path).strip("_")
        place = re.compile(rf"{short}:\d|{name}_\d")
        if any(place.search(text) or (named and _LINE.search(text)) for text in texts):
            raise Uncertain


__all__ = ["Moved", "Uncertain"]
