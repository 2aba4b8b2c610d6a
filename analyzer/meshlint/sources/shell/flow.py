"""Running statements in turn, and what leaves them early."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from meshlint.sources.shell.document import Document, Mark, parse_around_faults, parser
from meshlint.sources.shell.state import Exhausted, Shell, guard
from meshlint.sources.shell.term import (
    Atoms,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def run(shell: Shell, nodes: Iterable[Node]) -> str:
    """Run statements; gives how control goes on: empty, `exit`, `return`, `break` or `continue`."""
    for node in nodes:
        flow = statement(shell, node)
        if flow:
            return flow
    return ""


def statement(shell: Shell, node: Node) -> str:
    """Run one statement."""
    act = shell.handlers.get(node.type)
    if act is None:
        return ""
    shell.step()
    shell.nesting += 1
    if shell.nesting > shell.limits.nesting:
        raise Exhausted("it is nested too deeply")
    shell.status = None
    try:
        return act(shell, node)
    finally:
        shell.nesting -= 1


def run_document(shell: Shell, document: Document, beside: str = "") -> str:
    """Run a text in the current state."""
    if shell.tool is None:
        shell.tool = parser()
    if len(document.text) > 1_000_000:
        raise Exhausted("it is too long for a script")
    root, cuts = parse_around_faults(document, shell.tool)
    before, shell.document = shell.document, document
    shell.parked.append([])
    try:
        _report_errors(shell, root, cuts)
        flow = run(shell, root.children)
        unpark(shell, ("return",))
    finally:
        shell.document = before
        shell.parked.pop()
    return "exit" if flow == "exit" else ""


def _report_errors(shell: Shell, root: Node, cuts: Sequence[Mark]) -> None:
    """Note the first piece that cannot be read, and how many there are."""
    found = sorted([*_unread(shell, root), *((cut, _near(cut)) for cut in cuts)], key=lambda f: f[0].start)
    if found:
        others = len(found) - 1
        more = f", nor are {others} other pieces" if others > 1 else ", nor is another piece" if others else ""
        shell.trouble(found[0][0], f"{found[0][1]}{more}; the rest is read without that")


def _unread(shell: Shell, root: Node) -> Iterator[tuple[Mark, str]]:
    stack = [root] if root.has_error else []
    while stack:
        node = stack.pop()
        if node.is_missing:
            yield shell.mark(node), f"`{node.type}` is missing here"
        elif node.is_error:
            if node.end_byte > node.start_byte:
                yield shell.mark(node), _near(shell.mark(node))
        else:
            # What stands inside `${...}` is read again by itself, and is unknown where that fails.
            inner = node.children if node.type != "expansion" else [c for c in node.children if not c.is_error]
            stack.extend(c for c in reversed(inner) if c.has_error or c.is_missing)


def _near(mark: Mark) -> str:
    line = " ".join(mark.document.text[mark.start : mark.end].split())[:40]
    return f"it is not valid bash near `{line}`"


def unpark(shell: Shell, flows: Sequence[str], since: int = 0) -> None:
    """Bring back the states that left early."""
    waiting = shell.parked[-1]
    kept = []
    for state, flow in waiting:
        if flow in flows:
            base = shell.state
            shell.state = shell.merge(guard(state, len(base.guards)), state, base, base)
        else:
            kept.append((state, flow))
    shell.parked[-1] = kept


def printed(shell: Shell, atoms: Atoms) -> None:
    """Add to what is captured, if anybody listens."""
    if shell.state.out is not None:
        shell.state.out = (*shell.state.out, *atoms)
