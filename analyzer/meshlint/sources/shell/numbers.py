"""Arithmetic over variables: `$((...))`, indices, bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from meshlint.sources.shell import arithmetic
from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.state import Shell
from meshlint.sources.shell.term import (
    Assume,
    Atoms,
    Lit,
    Opaque,
    plain,
    settle,
    use,
)
from meshlint.sources.shell.values import computed, element, lifted
from meshlint.sources.shell.words import EXPANSIONS, QUOTES, dequoted, descend, gaps

if TYPE_CHECKING:
    from tree_sitter import Node


def arithmetic_value(shell: Shell, node: Node, front: int, back: int, quoted: bool) -> Atoms:
    """Evaluate `$((...))`."""
    mark = shell.mark(node)
    value = arithmetic_range(shell, mark.start + front, mark.end - back, list(descend(node)), mark)
    return use(value, None, split=not quoted)


def arithmetic_range(shell: Shell, start: int, end: int, inner: Iterable[Node], mark: Mark) -> Atoms:
    """Evaluate a stretch of the document as arithmetic; variables that it assigns are assigned."""
    wanted = [n for n in inner if n.type in EXPANSIONS or n.type in QUOTES]
    text = gaps(shell, start, end, wanted, True, dequoted)
    return arithmetic_text(shell, text, mark)


def arithmetic_text(shell: Shell, text: Atoms, mark: Mark) -> Atoms:
    """Evaluate a text as arithmetic."""
    shell.step(3)
    writes: dict[str, int] = {}
    ways = [0]

    def build(known: Assume) -> Atoms:
        writes.clear()
        ways[0] += 1
        operands: list[Lit] = [a for a in settle(text, known) if isinstance(a, Lit) and a.uses]

        def read(name: str) -> int:
            if name in writes:
                return writes[name]
            found = shell.lookup(name)
            atoms = element(shell, found, 0) if found.array else found.atoms
            content = plain(atoms, known)
            operands.extend(a for a in settle(atoms, known) if isinstance(a, Lit))
            if content.isidentifier():
                return read_again(content)
            return arithmetic.number(content)

        def read_again(name: str) -> int:
            return arithmetic.number(plain(shell.lookup(name).atoms, known))

        try:
            value = arithmetic.evaluate(plain(text, known), read, writes.__setitem__)
        except arithmetic.NoNumber:
            raise Opaque(shell.unknown("its arithmetic cannot be computed")) from None
        return (computed(str(value), mark, operands),)

    result = lifted(shell, build)
    for name, value in writes.items():
        atoms: Atoms = (computed(str(value), mark, ()),)
        if ways[0] > 1:
            atoms = (shell.unknown(f"`{name}` is computed from undecided values"),)
        shell.assign(name, atoms)
    return result
