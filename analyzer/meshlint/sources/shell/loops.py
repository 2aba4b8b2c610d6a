"""Loops: unrolled where their values are known, else run once with all that they set unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.flow import assigned, forget, run, unpark
from meshlint.sources.shell.lists import line, words_of
from meshlint.sources.shell.numbers import arithmetic_range
from meshlint.sources.shell.state import Shell, State
from meshlint.sources.shell.term import (
    Atoms,
    Choice,
    Field,
    Lit,
    Opaque,
    Pass,
    Undecided,
    Unk,
    fields,
    pack,
    plain,
    settle,
    use,
)
from meshlint.sources.shell.term import Node as Open
from meshlint.sources.shell.values import separator
from meshlint.sources.shell.words import EXPANSIONS, descend

if TYPE_CHECKING:
    from tree_sitter import Node

UNROLL = 64


def for_(shell: Shell, node: Node) -> str:
    """Run `for x in ...`."""
    variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
    if variable is None or body is None:
        return ""
    name = shell.text(variable)
    atoms = line(words_of(shell, node.children_by_field_name("value")))
    if not any(c.type == "in" for c in node.children):
        atoms = shell.state.arguments if shell.state.arguments is not None else (Pass(shell.mark(node)),)
    return _each(shell, name, atoms, body)


def _each(shell: Shell, name: str, atoms: Atoms, body: Node) -> str:
    try:
        words = fields(settle(atoms, shell.state.assume), separator(shell))
    except Undecided:
        words = []
        unk = shell.unknown(f"what `{name}` loops over depends on a condition")
        return _once(shell, [name], {name: (unk,)}, body)
    if len(words) > UNROLL or shell.spent:
        unk = shell.unknown(f"`{name}` loops over {len(words)} values")
        return _once(shell, [name], {name: (unk,)}, body)
    if not words and any(isinstance(a, Pass) for a in atoms):
        _open_to_arguments(shell, body)
    outer = shell.loops
    shell.parked.append([])
    flow = ""
    for field in words:
        value = pack([field])
        shell.assign(name, value)
        shell.loops = (*outer, (name, _shown(field)))
        flow = run(shell, body.children)
        unpark(shell, ("continue",))
        if flow in ("exit", "return", "break"):
            break
    return _after_loop(shell, outer, flow)


def _shown(field: Field) -> str:
    return "".join(a.text if isinstance(a, Lit) else "?" for a in field)[:60]


def _after_loop(shell: Shell, outer: tuple[tuple[str, str], ...], flow: str) -> str:
    shell.loops = outer
    unpark(shell, ("break", "continue"))
    left = shell.parked.pop()
    if left and shell.parked:
        shell.parked[-1].extend(left)
    shell.status = None
    return flow if flow in ("exit", "return") else ""


def _once(shell: Shell, names: Iterable[str], values: dict[str, Atoms], body: Node) -> str:
    """Run a body whose number of runs is not known: once, with all that it assigns unknown before and after."""
    changed = dict.fromkeys((*names, *assigned(shell, body)))
    _forget(shell, changed)
    for name, atoms in values.items():
        shell.assign(name, atoms)
    shell.parked.append([])
    flow = run(shell, body.children)
    if flow != "exit":
        _forget(shell, changed)
    return _after_loop(shell, shell.loops, flow if flow != "exit" else "")


def _forget(shell: Shell, names: Iterable[str]) -> None:
    forget(shell, names, "`{}` is set in a loop that meshlint cannot count")


def while_(shell: Shell, node: Node) -> str:
    """Run `while` and `until`."""
    body = node.child_by_field_name("body")
    condition = node.children_by_field_name("condition")
    if body is None:
        return ""
    if _asks_arguments(shell, condition):
        return _skip(shell, body)
    wanted = node.children[0].type == "while"

    def more() -> bool | None:
        run(shell, condition)
        truth = shell.known(shell.status) if shell.status is not None else None
        return None if isinstance(truth, Open) or truth is None else truth is wanted

    endless = " ".join(shell.text(n) for n in condition).strip(" ;\n") in _ENDLESS[wanted]
    return _repeat(shell, node, body, more, lambda: None, endless)


_ENDLESS = {True: ("true", ":", "[ 1 ]", "[[ 1 ]]", "((1))", "(( 1 ))"), False: ("false",)}
_LEAVES = ("break", "return", "exit", "exec", "continue")


def _repeat(
    shell: Shell, node: Node, body: Node, more: Callable[[], bool | None], after: Callable[[], None], endless: bool
) -> str:
    """Run a loop as often as `more` says; once with all that it sets unknown where nobody can count that.

    A loop that goes on past the bounds is taken back, with what it has started, and run once like that.
    """
    if shell.spent or (endless and not any(word in shell.text(body) for word in _LEAVES)):
        return _once(shell, assigned(shell, node), {}, body)
    outer, flow = shell.loops, ""
    before, reached = shell.state.fork(), len(shell.reached)
    shell.parked.append([])
    for _ in range(shell.limits.iterations):
        go_on = more()
        if go_on is None:
            shell.parked.pop()
            return _once(shell, assigned(shell, node), {}, body)
        if not go_on:
            break
        flow = run(shell, body.children)
        unpark(shell, ("continue",))
        if flow in ("exit", "return", "break"):
            break
        if len(shell.reached) - reached > UNROLL:
            return _take_back(shell, node, body, before, reached)
        after()
    else:
        return _take_back(shell, node, body, before, reached)
    return _after_loop(shell, outer, flow)


def _take_back(shell: Shell, node: Node, body: Node, before: State, reached: int) -> str:
    shell.parked.pop()
    shell.state = before
    del shell.reached[reached:]
    return _once(shell, assigned(shell, node), {}, body)


def _asks_arguments(shell: Shell, condition: Sequence[Node]) -> bool:
    """Say whether a loop goes over the script's own arguments; none are given, so it does not run."""
    if shell.state.arguments is not None:
        return False
    text = " ".join(shell.text(n) for n in condition)
    return any(sign in text for sign in ("$#", "${#}", "$1", "${1", "$@", "${@", "getopts"))


def _skip(shell: Shell, body: Node) -> str:
    _open_to_arguments(shell, body)
    return ""


def _open_to_arguments(shell: Shell, body: Node) -> None:
    """Say of all that a loop over the script's own arguments assigns that they can override it."""
    caveat = "the script's own arguments"
    mark = replace(shell.mark(body), caveat=caveat)
    mark = replace(mark, end=min(mark.end, mark.start + 2))
    for name in assigned(shell, body):
        var = shell.state.variables.get(name)
        if var is None or var.table is not None:
            continue
        atoms = use(var.atoms, mark, None)
        if not any(isinstance(a, Unk | Choice) or (isinstance(a, Lit) and a.text) for a in atoms):
            atoms = (*atoms, Pass(mark, f"argv:{name}", caveat, False))
        shell.state.variables[name] = replace(var, atoms=atoms)


def count_loop(shell: Shell, node: Node) -> str:
    """Run `for ((...; ...; ...))`."""
    body = node.child_by_field_name("body")
    if body is None:
        return ""
    _number(shell, node, "initializer")

    def more() -> bool | None:
        number = _number(shell, node, "condition")
        return None if number is None else number != 0

    def update() -> None:
        _number(shell, node, "update")

    endless = not node.children_by_field_name("condition")
    return _repeat(shell, node, body, more, update, endless)


def _number(shell: Shell, node: Node, name: str) -> int | None:
    parts = node.children_by_field_name(name)
    if not parts:
        return 1
    start, end = shell.mark(parts[0]).start, shell.mark(parts[-1]).end
    inner = [n for part in parts for n in ((part,) if part.type in EXPANSIONS else descend(part))]
    atoms = arithmetic_range(shell, start, end, inner, Mark(shell.document, start, end))
    try:
        return int(plain(atoms, shell.state.assume))
    except (Opaque, Undecided):
        return None
