"""Computing over values: in every open case, by entry, joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from meshlint.sources.shell import pattern
from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.state import Shell, Var
from meshlint.sources.shell.term import (
    BREAK,
    Assume,
    Atom,
    Atoms,
    Lit,
    Opaque,
    Undecided,
    Unk,
    cases,
    fields,
    join_atoms,
    plain,
    settle,
)

if TYPE_CHECKING:
    pass


def lifted(shell: Shell, build: Callable[[Assume], Atoms]) -> Atoms:
    """Compute a value in every open case; one that touches an unknown is unknown for the same reason."""

    def guarded(known: Assume) -> Atoms:
        try:
            return build(known)
        except Opaque as stop:
            return (Unk(stop.unk.reason, f"from:{stop.unk.key}:{shell.fresh()}", stop.unk.uses),)

    try:
        return cases(guarded, shell.state.assume, join_atoms)
    except Opaque as stop:
        return (stop.unk,)


def element(shell: Shell, var: Var, position: int) -> Atoms:
    """Give one entry of a list."""
    shell.walk(var.atoms)

    def build(known: Assume) -> Atoms:
        words = fields(settle(var.atoms, known))
        if any(isinstance(a, Unk) and a.several for w in words for a in w):
            raise Opaque(next(a for w in words for a in w if isinstance(a, Unk)))
        return words[position] if -len(words) <= position < len(words) else ()

    return lifted(shell, build)


def separator(shell: Shell) -> str:
    """Give IFS where it is known."""
    var = shell.state.variables.get("IFS")
    if var is None:
        return " \t\n"
    try:
        return plain(var.atoms, shell.state.assume)
    except (Opaque, Undecided):
        return " \t\n"


def joined(shell: Shell, atoms: Atoms) -> Atoms:
    """Join a list by the first character of IFS."""
    glue = Lit(separator(shell)[:1])

    def build(known: Assume) -> Atoms:
        found: list[Atom] = []
        for index, field in enumerate(fields(settle(atoms, known))):
            found.extend(((glue,) if index else ()) + field)
        return tuple(found)

    return lifted(shell, build)


def computed(text: str, mark: Mark | None, operands: Iterable[Lit]) -> Lit:
    """Make a text that was computed at `mark` from literals; their places stay with it."""
    marks: list[Mark] = []
    for lit in operands:
        marks.extend(m for m in (lit.mark, *lit.uses) if m is not None and m not in marks)
    first = mark if mark is not None else (marks.pop(0) if marks else None)
    open_ones = [m for m in marks[3:] if m.caveat][:1]  # what could change the result is never left out
    return Lit(text, first, exact=False, uses=(*marks[:3], *open_ones))


def listed(items: Sequence[Atom]) -> Atoms:
    """Give items as the words of a list."""
    found: list[Atom] = []
    for item in items:
        if found:
            found.append(BREAK)
        found.append(item)
    return tuple(found)


def quoted_pattern(shell: Shell, atoms: Atoms) -> Atoms:
    """Give a pattern that matches a value and nothing else."""
    return lifted(shell, lambda known: (Lit(pattern.quoted(plain(atoms, known))),))
