"""Comments and statements of a file, by the language's own tokens, for suppressions.

Each language gives its comments (line, column and text from the `#` on) and, for a line, the lines of the statement
that holds it. A file that does not parse gives what came before the fault, or nothing.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from meshlint.records import dataclass
from meshlint.sources.tree import Text

MAX_NODES = 400_000
"""Syntax nodes visited in one file."""
MAX_NESTED = 4
"""Scripts inside here-documents inside scripts."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; `alone` where nothing else stands on its line. Lines and columns start at 1."""

    line: int
    column: int
    text: str
    alone: bool


@dataclass(frozen=True, slots=True)
class Commented:
    """A file's comments, in order, and the line ranges of its statements, inner ones after outer ones."""

    comments: tuple[Comment, ...]
    statements: tuple[tuple[int, int], ...] = ()

    def statement(self, line: int) -> tuple[int, int]:
        """Give the first and last line of the smallest statement that holds a line; the line alone without one."""
        around = [s for s in self.statements if s[0] <= line <= s[1]]
        return min(around, key=lambda s: (s[1] - s[0], s), default=(line, line))


def commented(source: Text) -> Commented:
    """Read a file's comments by its name; unknown kinds have none."""
    reader = _READERS.get(PurePosixPath(source.path).suffix)
    if reader is None and source.text.startswith("#!"):
        reader = _shell
    if reader is None:
        return Commented(())
    try:
        return reader(source.text)
    except RecursionError:
        return Commented(())


def _comments(text: str, found: Iterable[tuple[int, int, str]]) -> tuple[Comment, ...]:
    lines = text.split("\n")
    return tuple(
        Comment(line, column, comment, not lines[line - 1][: column - 1].strip()) for line, column, comment in found
    )


def _python(text: str) -> Commented:
    return Commented(_comments(text, _python_comments(text)), tuple(_python_statements(text)))


def _python_comments(text: str) -> Iterator[tuple[int, int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1] + 1, token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _python_statements(text: str) -> Iterator[tuple[int, int]]:
    """Give each statement's lines; of a compound one only its header."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            yield node.lineno, last


def _yaml(text: str) -> Commented:
    return Commented(_comments(text, _yaml_comments(text)))


def _yaml_comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Give each `#` that begins a comment: after a blank or at the start of a line, and outside every scalar."""
    scalars = _yaml_scalars(text)
    for number, line in enumerate(text.split("\n")):
        for column, char in enumerate(line):
            starts = char == "#" and (column == 0 or line[column - 1] in " \t")
            if starts and not _inside(scalars.get(number, ()), number, column):
                yield number + 1, column + 1, line[column:]
                break


_Stretch = tuple[int, int, int, int]


def _yaml_scalars(text: str) -> dict[int, list[_Stretch]]:
    import yaml

    from meshlint.sources.yaml import Loader

    found: dict[int, list[_Stretch]] = {}
    try:
        for token in yaml.scan(text, Loader=Loader):
            if isinstance(token, yaml.ScalarToken):
                start, end = token.start_mark, token.end_mark
                stretch = (start.line, start.column, end.line, end.column)
                for number in range(start.line, end.line + 1):
                    found.setdefault(number, []).append(stretch)
    except yaml.YAMLError:
        pass
    return found


def _inside(stretches: Iterable[_Stretch], line: int, column: int) -> bool:
    return any(s[:2] <= (line, column) < s[2:] for s in stretches)


def _toml(text: str) -> Commented:
    return Commented(_comments(text, _toml_comments(text)))


def _toml_comments(text: str) -> Iterator[tuple[int, int, str]]:
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        column = 0
        while column < len(line):
            char = line[column]
            if quote:
                if char == "\\" and quote[0] == '"':
                    column += 1
                elif line.startswith(quote, column):
                    column += len(quote) - 1
                    quote = ""
            elif char in "\"'":
                quote = char * 3 if line.startswith(char * 3, column) else char
                column += len(quote) - 1
            elif char == "#":
                yield number, column + 1, line[column:]
                break
            column += 1
        if len(quote) == 1:
            quote = ""


_STATEMENTS = frozenset({"command", "variable_assignment", "declaration_command", "redirected_statement", "pipeline"})


def _shell(text: str) -> Commented:
    found: list[tuple[int, int, str]] = []
    statements: list[tuple[int, int]] = []
    _shell_part(text, 0, found, statements, 0)
    return Commented(_comments(text, sorted(found)), tuple(statements))


def _shell_part(
    text: str, offset: int, found: list[tuple[int, int, str]], statements: list[tuple[int, int]], depth: int
) -> None:
    """Read one script; `offset` lines stand before it in the file."""
    from meshlint.sources.shell.document import parser

    raw = text.encode("utf-8", "surrogatepass")
    todo: list[Any] = [parser().parse(raw).root_node]
    for _ in range(MAX_NODES):
        if not todo:
            return
        node = todo.pop()
        row, byte = node.start_point
        if node.type == "comment":
            before = raw[node.start_byte - byte : node.start_byte].decode("utf-8", "replace")
            found.append((offset + row + 1, len(before) + 1, node.text.decode("utf-8", "replace")))
        elif node.type == "heredoc_body" and depth < MAX_NESTED:
            _shell_part(node.text.decode("utf-8", "replace"), offset + row, found, statements, depth + 1)
        else:
            if node.type in _STATEMENTS:
                statements.append((offset + row + 1, offset + node.end_point[0] + 1))
            todo += node.children


_READERS: dict[str, Callable[[str], Commented]] = {
    ".py": _python,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".toml": _toml,
    ".sh": _shell,
    ".bash": _shell,
    ".sbatch": _shell,
    ".slurm": _shell,
    ".sub": _shell,
}
