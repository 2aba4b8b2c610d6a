"""Simple commands: their words, the assignments in front, what they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.sources.shell.assignments import assign
from meshlint.sources.shell.builtins import dispatch
from meshlint.sources.shell.lists import words_of
from meshlint.sources.shell.state import Shell, Var
from meshlint.sources.shell.words import word

if TYPE_CHECKING:
    from tree_sitter import Node

Act = Callable[[], str]


def command(shell: Shell, node: Node) -> str:
    """Run a command."""
    shell.afford(node.child_count)
    after, shell.trailing = shell.trailing, ()
    prefix: list[Node] = []
    parts: list[Node] = []
    outer = shell.stdin
    for child in node.children:
        if child.type == "variable_assignment" and not parts:
            prefix.append(child)
        elif child.type == "herestring_redirect":
            shell.stdin = word(shell, child.named_children[-1], quoted=True)
        elif child.type not in ("file_redirect", "heredoc_redirect", "comment"):
            parts.append(child.named_children[0] if child.type == "command_name" and child.named_children else child)
    parts.extend(after)
    tail = parts.pop(0) if prefix and parts and shell.mark(parts[0]).start == prefix[-1].end_byte else None
    try:
        if not parts:
            _assign_all(shell, prefix, tail)
            return ""
        mark = shell.mark(node)
        if prefix:
            mark = replace(mark, start=shell.mark(parts[0]).start)
        return _prefixed_call(shell, prefix, lambda: dispatch(shell, words_of(shell, parts), mark))
    finally:
        shell.stdin = outer


def _assign_all(shell: Shell, prefix: list[Node], tail: Node | None) -> None:
    """Run assignments; `tail` is a piece of the last value that the grammar took for a command (`x=${y}\\$z`)."""
    name = ""
    for child in prefix:
        name = assign(shell, child)
    if tail is not None and name:
        shell.assign(name, (*shell.lookup(name).atoms, *word(shell, tail, quoted=True)))


def _prefixed_call(shell: Shell, prefix: list[Node], act: Act) -> str:
    if not prefix:
        return act()
    saved: dict[str, Var | None] = {}
    for child in prefix:
        target = child.child_by_field_name("name")
        if target is None or target.type == "subscript":
            continue
        name = shell.text(target)
        saved[name] = shell.state.variables.get(name)
        assign(shell, child)
        shell.export(name)
    flow = act()
    for name, var in saved.items():
        if var is None:
            shell.state.variables.pop(name, None)
        else:
            shell.state.variables[name] = var
    return flow
