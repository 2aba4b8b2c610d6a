"""Where something is written: the one kind of place that every room speaks of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a file.

    `path` is POSIX and relative to the root of the tree where the file lies inside it, else absolute. Lines and
    columns start at 1 and count characters; `end_column` is the column after the last character.
    """

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __post_init__(self) -> None:
        """Let a bare line stand for a one-character stretch."""
        if self.end_line == 0:
            object.__setattr__(self, "end_line", self.line)
            object.__setattr__(self, "end_column", max(self.end_column, self.column + 1))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
