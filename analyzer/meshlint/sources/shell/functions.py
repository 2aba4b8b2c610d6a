"""Groups of statements, subshells and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.flow import run, statement, unpark
from meshlint.sources.shell.numbers import arithmetic_range
from meshlint.sources.shell.state import Shell
from meshlint.sources.shell.term import (
    Assume,
    Atoms,
    Choice,
    Lit,
    Opaque,
    Pass,
    Truth,
    Unk,
    cases,
    join_truth,
    plain,
)
from meshlint.sources.shell.term import Node as Open
from meshlint.sources.shell.words import descend

if TYPE_CHECKING:
    from tree_sitter import Node


def compound(shell: Shell, node: Node) -> str:
    """Run `{ ... }`, the body of a loop, or `(( ))`."""
    if node.children and node.children[0].type == "((":
        return arithmetic_command(shell, node)
    return run(shell, node.children)


def arithmetic_command(shell: Shell, node: Node) -> str:
    """Run `(( ))`: it succeeds where the number is not zero."""
    mark = shell.mark(node)
    atoms = arithmetic_range(shell, mark.start + 2, mark.end - 2, list(descend(node)), mark)

    def build(known: Assume) -> Truth:
        try:
            return plain(atoms, known) != "0"
        except Opaque as stop:
            text = " ".join(shell.text(node).split())
            names = f"arith:{text}:{stop.unk.key.partition(':new')[0]}"
            return Open(shell.cond(f"{names}:{shell.fresh()}", text, mark), True, False)

    try:
        shell.status = cases(build, shell.state.assume, join_truth)
    except Opaque:
        shell.status = None
    return ""


def subshell(shell: Shell, node: Node) -> str:
    """Run `( ... )`: what it sets is lost behind it."""
    before = shell.state
    shell.state = before.fork()
    shell.parked.append([])
    run(shell, node.children)
    shell.parked.pop()
    out = shell.state.out
    shell.state = before
    before.out = out if before.out is not None else None
    return ""


def function(shell: Shell, node: Node) -> str:
    """Keep a function for its calls."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None and body is not None:
        shell.functions[shell.text(name)] = (body, shell.document)
    return ""


def call(shell: Shell, name: str, given: Atoms, mark: Mark) -> str:
    """Call a function of the script."""
    shell.status = None
    body, document = shell.functions[name]
    key = id(document), body.start_byte
    if shell.bodies.count(key) > 2:  # what it starts was met on the way here
        return ""
    if len(shell.calls) > shell.limits.calls:
        shell.skip(mark, f"functions call each other more than {shell.limits.calls} deep")
        return ""
    saved = shell.state.arguments, shell.state.shifted
    before, shell.document = shell.document, document
    shell.state.arguments, shell.state.shifted = given, 0
    if any(isinstance(a, Pass) for a in given) and not any(isinstance(a, Lit | Unk | Choice) for a in given):
        shell.state.arguments = None
    shell.calls, shell.bodies = (*shell.calls, name), (*shell.bodies, key)
    shell.locals.append({})
    shell.parked.append([])
    try:
        flow = statement(shell, body)
        unpark(shell, ("return", "break", "continue"))
    finally:
        shell.document = before
        shell.calls, shell.bodies = shell.calls[:-1], shell.bodies[:-1]
        shell.parked.pop()
        local = shell.locals.pop()
    shell.state.arguments, shell.state.shifted = saved
    for variable, var in local.items():
        if var is None:
            shell.state.variables.pop(variable, None)
        else:
            shell.state.variables[variable] = var
    return "exit" if flow == "exit" else ""
