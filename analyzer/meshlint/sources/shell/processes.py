"""Programs that are started, and the scripts that some of them run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshlint.sources.shell import slurm
from meshlint.sources.shell.capture import path_key
from meshlint.sources.shell.document import Document, Mark, derived
from meshlint.sources.shell.flow import printed, run_document
from meshlint.sources.shell.lists import line, text_of
from meshlint.sources.shell.state import Reached, Shell
from meshlint.sources.shell.term import (
    Atoms,
    Unk,
)

if TYPE_CHECKING:
    pass

SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
SUBMIT = frozenset({"sbatch"})
_RUNS = ("-exec", "-execdir", "-ok")
TYPISTS = frozenset({"tmux", "screen", "script", "watch", "su", "parallel"})
"""Programs that run one word as a command line of its own: `tmux new-session -d "torchrun ..."`."""
MAX_WRAPPERS = 6


def external(shell: Shell, name: str, words: Sequence[Atoms], mark: Mark) -> str:
    """Meet a command that is a program: look into the scripts that it runs, and record it."""
    shell.status = None
    inner = _inner_script(shell, words)
    if inner is not None:
        document, outer, given = inner
        return run_inner(shell, document, outer, given)
    if shell.state.out is not None:
        text = " ".join(mark.document.text[mark.start : mark.end].split())[:60]
        printed(
            shell, (Unk(f"what `{text}` prints is known only when the script runs", f"out:{shell.fresh()}", (mark,)),)
        )
    if name in shell.boring and not (name == "find" and any(text_of(shell, w) in _RUNS for w in words)):
        return ""
    if len(shell.reached) >= shell.limits.reached:
        if len(shell.reached) == shell.limits.reached and not shell.full:
            shell.full = True
            shell.skip(mark, f"it starts more than {shell.limits.reached:,} commands")
        return ""
    shell.step(len(shell.state.variables) // 16)
    shell.reached.append(
        Reached(
            mark,
            line(words),
            shell.state.fork(),
            shell.loops,
            shell.wrappers,
            shell.directives,
            shell.calls[0] if shell.calls else "",
            shell.fresh(),
        )
    )
    return ""


def _inner_script(shell: Shell, words: Sequence[Atoms]) -> tuple[Document, Sequence[Atoms], Atoms] | None:
    """Find the script in a command: `bash -c TEXT`, a heredoc for a shell or sbatch, or a file written before."""
    texts = [text_of(shell, w) or "" for w in words]
    for index, text in enumerate(texts):
        name = text.rsplit("/", 1)[-1]
        if name in SHELLS or name in SUBMIT:
            found = _script_of(shell, words, texts, index)
            if found is not None:
                return found
        key = path_key(words[index])
        if key in shell.files and (index == 0 or texts[index - 1].rsplit("/", 1)[-1] in ("source", ".")):
            shell.ran.add(key)
            return shell.files[key], words[:index], line(words[index + 1 :])
    if texts and texts[0].rsplit("/", 1)[-1] in TYPISTS:
        typed = next((at for at, text in enumerate(texts) if at and _is_command_line(text)), None)
        if typed is not None:
            return derived(shell.document.path, words[typed]), (), ()
    if shell.stdin is not None and words and texts[-1].rsplit("/", 1)[-1] in SHELLS and len(texts) > 1:
        return derived(shell.document.path, shell.stdin), words[:-1], ()
    return None


def _is_command_line(text: str) -> bool:
    return " " in text.strip() and any(word in text for word in ("torchrun ", "python", "srun ", ".sh", "deepspeed "))


def _script_of(
    shell: Shell, words: Sequence[Atoms], texts: Sequence[str], index: int
) -> tuple[Document, Sequence[Atoms], Atoms] | None:
    submits = texts[index].rsplit("/", 1)[-1] in SUBMIT
    outer = words[: index + 1] if submits else words[:index]
    at = index + 1
    while at < len(words):
        text = texts[at]
        if not submits and text.startswith("-") and not text.startswith("--") and "c" in text and at + 1 < len(words):
            return derived(shell.document.path, words[at + 1]), outer, line(words[at + 3 :])
        key = path_key(words[at])
        if key in shell.files:
            shell.ran.add(key)
            return shell.files[key], (*outer, *words[index + 1 : at]) if submits else outer, line(words[at + 1 :])
        if not submits and not text.startswith("-"):
            return None
        at += 1
    if shell.stdin is not None and (submits or all(t.startswith("-") for t in texts[index + 1 :])):
        return derived(shell.document.path, shell.stdin), words if submits else outer, ()
    return None


def run_inner(shell: Shell, document: Document, outer: Sequence[Atoms], given: Atoms) -> str:
    """Run a script inside the script: a process of its own, with the exported variables."""
    if len(shell.wrappers) > MAX_WRAPPERS:
        shell.skip(shell.at or Mark(document, 0, 1), f"scripts start scripts more than {MAX_WRAPPERS} deep")
        return ""
    before = shell.state, shell.wrappers, shell.directives, shell.stdin
    shell.state = shell.state.fork()
    shell.state.variables = {n: v for n, v in shell.state.variables.items() if v.exported}
    shell.state.arguments, shell.state.shifted = given, 0
    shell.wrappers = (*shell.wrappers, line(outer)) if outer else shell.wrappers
    shell.stdin = None
    mine = slurm.directives(document)
    if mine:
        shell.directives = mine
        shell.state.variables.update(slurm.variables(mine))
    try:
        run_document(shell, document)
        out = shell.state.out
    finally:
        shell.state, shell.wrappers, shell.directives, shell.stdin = before
    if shell.state.out is not None and out is not None:
        shell.state.out = out
    shell.status = None
    return ""
