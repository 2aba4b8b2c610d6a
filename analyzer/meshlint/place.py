"""Where something is written: the one kind of place that every room speaks of."""

from __future__ import annotations

from typing import NamedTuple


class _Span(NamedTuple):
    path: str
    line: int
    column: int
    end_line: int
    end_column: int


class Span(_Span):
    """A stretch of a file.

    `path` is POSIX and relative to the root of the tree where the file lies inside it, else absolute. Lines and
    columns start at 1 and count characters; `end_column` is the column after the last character. A bare line stands
    for its first character. A tuple, not a dataclass: a large tree has hundreds of thousands of them.
    """

    __slots__ = ()

    def __new__(cls, path: str, line: int, column: int = 1, end_line: int = 0, end_column: int = 0) -> Span:
        """Let a bare line stand for a one-character stretch."""
        if end_line == 0:
            end_line, end_column = line, max(end_column, column + 1)
        return tuple.__new__(cls, (path, line, column, end_line, end_column))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
