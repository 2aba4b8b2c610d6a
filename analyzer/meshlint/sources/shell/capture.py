"""What commands print and read: substitutions, pipelines, redirections and heredocs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.sources.shell.document import derived
from meshlint.sources.shell.flow import printed, run, statement
from meshlint.sources.shell.state import Shell
from meshlint.sources.shell.term import (
    Atoms,
    Choice,
    Lit,
    Unk,
    document_literals,
)
from meshlint.sources.shell.words import EXPANSIONS, dequoted, gaps, word

if TYPE_CHECKING:
    from tree_sitter import Node


def captured(shell: Shell, node: Node) -> Atoms:
    """Give what a command substitution prints, without its last line breaks."""
    inner = [c for c in node.children if c.is_named]
    if inner and all(c.type == "file_redirect" for c in inner):
        return (shell.unknown("it is read from a file when the script runs", node),)
    before = shell.state
    shell.state = before.fork()
    shell.state.out = ()
    stdin, shell.stdin = shell.stdin, None
    shell.parked.append([])
    try:
        run(shell, inner)
        out = shell.state.out
    finally:
        shell.parked.pop()
        shell.state, shell.stdin = before, stdin
    return rstripped(out or ())


def rstripped(atoms: Atoms) -> Atoms:
    """Take line breaks off the end."""
    return _rstripped(atoms, {})


def _rstripped(atoms: Atoms, memo: dict[tuple[int, int], tuple[Atoms, Atoms]]) -> Atoms:
    while atoms:
        last = atoms[-1]
        if isinstance(last, Choice):
            key = (id(last.yes), id(last.no))
            if key not in memo:
                memo[key] = _rstripped(last.yes, memo), _rstripped(last.no, memo)
            return (*atoms[:-1], replace(last, yes=memo[key][0], no=memo[key][1]))
        if not isinstance(last, Lit) or not last.text.endswith("\n"):
            return atoms
        text = last.text.rstrip("\n")
        atoms = atoms[:-1]
        if text:
            return (*atoms, last.slice(0, len(text)))
    return atoms


def pipeline(shell: Shell, node: Node) -> str:
    """Run a pipeline: each stage in a shell of its own, reading what the one before printed."""
    stages = [c for c in node.children if c.is_named and c.type != "comment"]
    _stages(shell, stages, shell.stdin)
    return ""


def _stages(shell: Shell, stages: Sequence[Node], stdin: Atoms | None) -> None:
    before, outer = shell.state, shell.stdin
    listening = before.out is not None
    for index, stage in enumerate(stages):
        last = index == len(stages) - 1
        shell.state = before.fork()
        shell.state.out = () if not last or listening else None
        shell.stdin = stdin
        shell.parked.append([])
        statement(shell, stage)
        shell.parked.pop()
        stdin = shell.state.out
    shell.state, shell.stdin = before, outer
    if listening:
        printed(shell, stdin or ())
    shell.status = None


def redirected(shell: Shell, node: Node) -> str:
    """Run a statement with redirections."""
    body = node.child_by_field_name("body")
    outer = shell.stdin
    target: Node | None = None
    rest: list[Node] = []
    after: list[Node] = []
    for redirect in node.children_by_field_name("redirect"):
        if redirect.type == "heredoc_redirect":
            shell.stdin = heredoc(shell, redirect)
            rest.extend(c for c in redirect.named_children if c.type in ("pipeline", "list"))
            target = next((c for c in redirect.named_children if c.type == "file_redirect"), target)
        elif redirect.type == "herestring_redirect":
            shell.stdin = word(shell, redirect.named_children[-1], quoted=True)
        elif redirect.type == "file_redirect":
            target = redirect
            after.extend(_behind(redirect))
    try:
        return _with_stdin(shell, body, target, rest, after)
    finally:
        shell.stdin = outer


def _behind(redirect: Node) -> list[Node]:
    """Give the words behind a redirection's file: the grammar takes them for files too, bash for arguments."""
    return redirect.children_by_field_name("destination")[1:]


def _with_stdin(shell: Shell, body: Node | None, target: Node | None, rest: list[Node], after: list[Node]) -> str:
    if body is None:
        return ""
    if after and body.type == "command":
        shell.trailing = after
        return statement(shell, body)
    if shell.stdin is not None and target is not None and _prints_input(shell, body):
        _write_file(shell, target, shell.stdin)
        return ""
    if rest:
        stages = [body, *(c for r in rest for c in r.named_children)]
        _stages(shell, stages, shell.stdin)
        return ""
    if target is not None and shell.state.out is not None and shell.text(target)[:1] in (">", "&"):
        out = shell.state.out
        flow = statement(shell, body)
        shell.state.out = out
        return flow
    return statement(shell, body)


def _prints_input(shell: Shell, body: Node) -> bool:
    return body.type == "command" and shell.text(body).split()[:1] == ["cat"]


def _write_file(shell: Shell, target: Node, content: Atoms) -> None:
    place = target.child_by_field_name("destination")
    if place is None or not shell.text(target).startswith(">"):
        return
    name = path_key(word(shell, place, quoted=True))
    if len(shell.files) >= shell.limits.files and name not in shell.files:
        shell.skip(shell.mark(target), f"it writes more than {shell.limits.files} files")
        return
    shell.files[name] = derived(shell.document.path, content)


def path_key(atoms: Atoms) -> str:
    """Give a name for a file that is written: two words that are put together alike name one file."""
    parts = []
    for atom in atoms:
        if isinstance(atom, Lit):
            parts.append(atom.text)
        elif isinstance(atom, Unk):
            parts.append(f"<{atom.key}>")
        elif isinstance(atom, Choice):
            parts.append(f"<{atom.cond.number}:{id(atom.yes)}:{id(atom.no)}>")
    name = "".join(parts)
    return name[2:] if name.startswith("./") else name


def heredoc(shell: Shell, redirect: Node) -> Atoms:
    """Evaluate a heredoc's text; a quoted delimiter keeps it as it stands."""
    start = next((c for c in redirect.children if c.type == "heredoc_start"), None)
    body = next((c for c in redirect.children if c.type == "heredoc_body"), None)
    if start is None or body is None:
        return ()
    text = shell.document.text
    low, high = body.start_byte, min(body.end_byte, len(text))
    line = text.rfind("\n", 0, low) + 1
    low = line if not text[line:low].strip() and line > start.end_byte else low
    if any(c in shell.text(start) for c in "'\"\\"):
        return document_literals(shell.document, low, high)
    inner = [c for c in body.children if c.type in EXPANSIONS]
    return gaps(shell, low, high, inner, True, dequoted)
