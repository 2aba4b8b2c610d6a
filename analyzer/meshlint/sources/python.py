"""Python source, parsed with the standard `ast` and never executed, with places that count characters."""

from __future__ import annotations

import ast
import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Text, Unreadable

MAX_CHARACTERS = 750_000
"""A longer file is data, not source that a person wrote; parsing it would take seconds."""

_PYTHON_2 = ("Missing parentheses in call to 'print'", "Missing parentheses in call to 'exec'")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A parsed file: its tree and its lines, from which places and texts of nodes are read."""

    path: str
    tree: ast.Module
    lines: list[str]
    _texts: dict[int, str] = field(default_factory=dict)

    def span(self, node: ast.AST) -> Span:
        """Give the place of a node that has one."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        if end_line == line and 0 < line <= len(self.lines) and self.lines[line - 1].isascii():
            start = getattr(node, "col_offset", 0)
            return Span(self.path, line, start + 1, line, (getattr(node, "end_col_offset", None) or start) + 1)
        return Span(
            self.path,
            line,
            self._column(line, getattr(node, "col_offset", 0)),
            end_line,
            self._column(end_line, getattr(node, "end_col_offset", None) or 0),
        )

    def text(self, node: ast.AST) -> str:
        """Give a node as it is written, on one line and cut to 120 characters."""
        known = self._texts.get(id(node))
        if known is None:
            known = self._texts[id(node)] = self._cut(self.span(node))
        return known

    def between(self, span: Span) -> str:
        """Give the text of a stretch, line breaks kept."""
        lines = self.lines[span.line - 1 : span.end_line]
        if not lines:
            return ""
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return "\n".join(lines)

    def _cut(self, span: Span) -> str:
        if span.line == span.end_line and span.end_column - span.column <= 120:
            return (
                self.lines[span.line - 1][span.column - 1 : span.end_column - 1] if span.line <= len(self.lines) else ""
            )
        whole = " ".join(self.between(span).split())
        return whole if len(whole) <= 120 else whole[:117] + "..."

    def _column(self, line: int, offset: int) -> int:
        """Turn ast's byte offset into a column that counts characters from 1."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1


def parse(text: Text) -> Source:
    """Parse a file; raises Unreadable with the line where it is not Python that this version of Python reads."""
    if len(text.text) > MAX_CHARACTERS:
        raise Unreadable(
            text.path, f"it has {len(text.text):,} characters; meshlint parses Python up to {MAX_CHARACTERS:,}"
        )
    with warnings.catch_warnings(), uncollected():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text.text)
        except SyntaxError as error:
            raise Unreadable(text.path, _sentence(error), error.lineno or 1, max(1, error.offset or 1)) from None
        except (RecursionError, MemoryError):
            raise Unreadable(text.path, "it is nested too deeply to be parsed") from None
        except ValueError as error:
            raise Unreadable(text.path, f"it is not Python: {str(error).splitlines()[0]}") from None
    return Source(text.path, tree, _lines(text.text))


@contextmanager
def uncollected() -> Iterator[None]:
    """Hold the collector of cycles off while much is built that stays: it would walk all of it again and again."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _sentence(error: SyntaxError) -> str:
    message = error.msg or "invalid syntax"
    if message.startswith(_PYTHON_2):
        return "it is Python 2, which meshlint does not read"
    return f"it is not Python: {message}"


def _lines(text: str) -> list[str]:
    """Split where Python's tokenizer does: form feeds and Unicode separators do not end a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
