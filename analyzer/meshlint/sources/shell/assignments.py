"""Assignments to texts, lists and single entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.sources.shell.numbers import arithmetic_range
from meshlint.sources.shell.state import Shell, Var
from meshlint.sources.shell.term import (
    BREAK,
    Atoms,
    Lit,
    Opaque,
    Undecided,
    Unk,
    fields,
    pack,
    plain,
    settle,
    text_only,
    use,
)
from meshlint.sources.shell.words import listing, word

if TYPE_CHECKING:
    from tree_sitter import Node


def assignment(shell: Shell, node: Node) -> str:
    """Run an assignment."""
    assign(shell, node)
    return ""


def assignments(shell: Shell, node: Node) -> str:
    """Run several assignments on a line."""
    for child in node.named_children:
        if child.type == "variable_assignment":
            assign(shell, child)
    return ""


def assign(shell: Shell, node: Node) -> str:
    """Run one assignment; gives the variable's name."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if target is None:
        return ""
    more = any(c.type == "+=" for c in node.children)
    if target.type == "subscript":
        return _assign_entry(shell, target, value, more)
    name = shell.text(target)
    old = shell.lookup(name)
    if value is not None and value.type == "array":
        atoms, table = listing(shell, value)
        if table is not None:
            base = dict(old.table or {}) if more else {}
            shell.assign(name, (), table={**base, **table})
            return name
        if old.table is not None and not more and not atoms:
            shell.assign(name, (), table={})
            return name
        if more:
            atoms = _appended(old, atoms)
        shell.assign(name, atoms, array=True)
        return name
    atoms = text_only(word(shell, value, quoted=True)) if value is not None else ()
    if more and old.array:
        atoms = atoms + old.atoms
    elif more:
        known = name in shell.state.variables
        atoms = (*(old.atoms if known else use(old.atoms, None, None)), *atoms)
    shell.assign(name, atoms, array=old.array and more)
    return name


def _appended(old: Var, atoms: Atoms) -> Atoms:
    if len(old.atoms) == 1 and isinstance(old.atoms[0], Unk) and not old.array and old.atoms[0].optional:
        return atoms
    if not old.atoms or not atoms:
        return old.atoms or atoms
    return (*old.atoms, BREAK, *atoms)


def _assign_entry(shell: Shell, target: Node, value: Node | None, more: bool) -> str:
    name_node, index = target.child_by_field_name("name"), target.child_by_field_name("index")
    if name_node is None or index is None:
        return ""
    name = shell.text(name_node)
    old = shell.lookup(name)
    shell.walk(old.atoms)
    shell.walk(old.atoms)
    shell.step(len(old.table or ()) // 32)
    atoms = word(shell, value, quoted=True) if value is not None else ()
    try:
        if old.table is not None:
            key = plain(word(shell, index, True), shell.state.assume)
            table = {**old.table, key: (*old.table.get(key, ()), *atoms) if more else atoms}
            shell.assign(name, (), table=table)
            return name
        mark = shell.mark(index)
        position = int(plain(arithmetic_range(shell, mark.start, mark.end, [index], mark), shell.state.assume))
        words = fields(settle(old.atoms, shell.state.assume)) if name in shell.state.variables else []
        if not 0 <= position <= len(words):
            raise Opaque(shell.unknown("its entries have holes"))
        entry = pack([tuple(a for a in settle(atoms, shell.state.assume) if isinstance(a, Lit | Unk)) or (Lit(""),)])
        words[position : position + 1] = [tuple(a for a in entry if isinstance(a, Lit | Unk))]
        shell.assign(name, pack(words), array=True)
    except (Opaque, Undecided, ValueError):
        shell.assign(
            name, (shell.unknown(f"which entry of `{name}` is set cannot be known", several=True),), array=True
        )
    return name


def unset(shell: Shell, node: Node) -> str:
    """Run `unset`; of a function's name too, where no variable has it."""
    for child in node.named_children:
        name = shell.text(child)
        if name not in shell.state.variables:
            shell.functions.pop(name, None)
        if child.type in ("variable_name", "word") and not name.startswith("-"):
            shell.state.variables[name] = Var((), unset=True)
    return ""
