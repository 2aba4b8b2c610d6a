"""What an expansion names: variables, entries of lists, the arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.records import dataclass
from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.numbers import arithmetic_range
from meshlint.sources.shell.state import Shell, Var
from meshlint.sources.shell.term import (
    Atoms,
    Lit,
    Opaque,
    Pass,
    Undecided,
    Unk,
    fields,
    plain,
    settle,
)
from meshlint.sources.shell.values import element, lifted, listed
from meshlint.sources.shell.words import word

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Target:
    """What an expansion names: its variable, its value, and whether it is a list (`@`), a joined list (`*`) or text."""

    name: str
    atoms: Atoms
    form: str = ""
    var: Var | None = None


def target(shell: Shell, node: Node) -> Target:
    """Evaluate the name inside an expansion."""
    if node.type == "subscript":
        return _subscript(shell, node)
    name = shell.text(node)
    if name.isdecimal() and len(name) < 10:
        return Target(name, argument(shell, int(name)))
    if name in ("@", "*"):
        return Target(name, arguments(shell, shell.mark(node)), name)
    if name == "#":
        return Target(name, _count(shell))
    if name in ("?", "$", "!", "-", "_"):
        return Target(name, (Unk(f"`${name}` is known only when the script runs", f"new:{shell.fresh()}"),))
    var = shell.lookup(name)
    if name == "BASH_SOURCE":
        return Target(name, (Lit(shell.document.path),))
    return Target(name, element(shell, var, 0) if var.array else var.atoms, "", var)


def _subscript(shell: Shell, node: Node) -> Target:
    name_node, index = node.child_by_field_name("name"), node.child_by_field_name("index")
    name = shell.text(name_node) if name_node is not None else ""
    if name == "BASH_SOURCE":
        return Target(name, (Lit(shell.document.path),))
    var = shell.lookup(name)
    key = shell.text(index) if index is not None else ""
    if key in ("@", "*"):
        return Target(name, _all(shell, var, name), key, var)
    if var.table is not None and index is not None:
        return Target(name, _entry(shell, var, word(shell, index, True)), "", var)
    if index is None or not var.array:
        return Target(name, var.atoms if key in ("0", "") else (), "", var)
    mark = shell.mark(index)
    try:
        position = int(plain(arithmetic_range(shell, mark.start, mark.end, [index], mark), shell.state.assume))
    except (Opaque, Undecided, ValueError):
        return Target(name, (shell.unknown(f"which entry of `{name}` it is cannot be known", node),), "", var)
    return Target(name, element(shell, var, position), "", var)


def _all(shell: Shell, var: Var, name: str) -> Atoms:
    """Give all entries. The environment holds no lists: one that nothing sets is empty."""
    if var.table is not None:
        return listed([a for atoms in var.table.values() for a in atoms[:1]])
    if len(var.atoms) == 1 and isinstance(var.atoms[0], Unk) and not var.array:
        unk = var.atoms[0]
        if unk.key == f"env:{name}" and not shell.missing:
            return ()
        return (Unk(unk.reason, unk.key, unk.uses, unk.split, True, unk.optional),)
    return var.atoms


def _entry(shell: Shell, var: Var, key: Atoms) -> Atoms:
    table = var.table or {}
    return lifted(shell, lambda known: table.get(plain(key, known), ()))


def argument(shell: Shell, position: int) -> Atoms:
    """Give a positional parameter."""
    if position == 0:
        return (Lit(shell.path),)
    given = shell.state.arguments
    if given is None:
        number = position + shell.state.shifted
        return (
            Unk(f"it is argument {number} of the script", f"arg:{number}", optional=f"argument {number} of the script"),
        )
    return element(shell, Var(given, array=True), position - 1)


def arguments(shell: Shell, mark: Mark) -> Atoms:
    """Give all positional parameters; the script's own leave no word."""
    given = shell.state.arguments
    return (Pass(mark),) if given is None else given


def _count(shell: Shell) -> Atoms:
    given = shell.state.arguments
    if given is None:
        return (Unk("how many arguments the script gets is not known", "argc"),)
    return lifted(shell, lambda known: (Lit(str(len(fields(settle(given, known))))),))
