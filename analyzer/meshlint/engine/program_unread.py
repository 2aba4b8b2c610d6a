"""Python files that the code side cannot read: what would have been judged and is not is told, never passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from meshlint.config.surface import Context, Problem
from meshlint.place import Span
from meshlint.sources.tree import MAX_BYTES, Unreadable

if TYPE_CHECKING:
    from meshlint.protocol.program import Program

_OTHER = "Mend it, run meshlint with the Python that it is written for, or leave it out: `exclude` in the settings."


def unread(paths: Iterable[str], program: Program, context: Context) -> Iterator[tuple[str, Problem]]:
    """Give the files that cannot be read, each with the note of the program that says so.

    They are those that a person named, those whose words are of collectives and those too large to be asked for words;
    what is told already is left out.
    """
    from meshlint.protocol.facts import speaks_of_groups

    known = {problem.span.path for problem in context.problems}
    for path in paths:
        note = program.unread(path)
        if path in known or (program.holds(path) and not note):
            continue
        if path in context.named or _too_large(path, context) or speaks_of_groups(context.tree.glance(path)):
            line, sentence = _reason(path, note, context)
            yield f"{path}: {note}", Problem(Span(path, line), sentence, fix=_OTHER if note else "", code=True)


def _too_large(path: str, context: Context) -> bool:
    try:
        return context.tree.stat(path).st_size > MAX_BYTES
    except (Unreadable, OSError):
        return False


def _reason(path: str, note: str, context: Context) -> tuple[int, str]:
    if note:
        line, _, sentence = note.removeprefix("line ").partition(": ")
        return int(line), sentence
    try:
        context.tree.read(path)
    except Unreadable as error:
        return error.line, error.sentence
    return 1, "it changed while it was read"
