"""Colours of the terminal, off unless asked for."""

from __future__ import annotations

from meshlint.records import dataclass

_CODES = {"error": "1;31", "warning": "1;33", "info": "1;36", "place": "34", "bold": "1", "dim": "2", "good": "32"}


@dataclass(frozen=True, slots=True)
class Style:
    """Paints text, or leaves it alone."""

    colour: bool = False

    def __call__(self, kind: str, text: str) -> str:
        """Give `text` in the colour of a severity, a place, or in bold or dim."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.colour else text
