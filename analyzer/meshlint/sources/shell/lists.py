"""Lists of words: from nodes, into one value, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshlint.sources.shell.state import Shell
from meshlint.sources.shell.term import (
    BREAK,
    Atom,
    Atoms,
    Opaque,
    Undecided,
    plain,
)
from meshlint.sources.shell.words import word

if TYPE_CHECKING:
    from tree_sitter import Node


def line(words: Sequence[Atoms]) -> Atoms:
    """Put words into one value."""
    found: list[Atom] = []
    for atoms in words:
        if atoms and found:
            found.append(BREAK)
        found.extend(atoms)
    return tuple(found)


def text_of(shell: Shell, atoms: Atoms) -> str | None:
    """Give a word's text where it is known."""
    try:
        return plain(atoms, shell.state.assume)
    except (Opaque, Undecided):
        return None


def words_of(shell: Shell, parts: Sequence[Node]) -> list[Atoms]:
    """Evaluate the words of a command; nodes without a blank between them are one word."""
    words: list[Atoms] = []
    end = -1
    for part in parts:
        mark = shell.mark(part)
        if mark.start == mark.end:
            continue
        atoms = word(shell, part)
        if mark.start == end and words:
            words[-1] = (*words[-1], *atoms)
        else:
            words.append(atoms)
        end = mark.end
    return words
