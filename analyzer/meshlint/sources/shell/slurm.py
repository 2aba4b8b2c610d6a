"""SBATCH comments: options of the job, and the variables that Slurm sets from them."""

from __future__ import annotations

from meshlint.sources.shell.document import Document
from meshlint.sources.shell.state import Var
from meshlint.sources.shell.term import Atoms, Lit, document_literals, fields

MAX_DIRECTIVES = 100
_VARIABLES = {
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
}
_SHORT = {"-N": "nodes", "-n": "ntasks"}


def directives(document: Document) -> tuple[Atoms, ...]:
    """Give the options of every `#SBATCH` line before the first command."""
    found: list[Atoms] = []
    at, text = 0, document.text
    while at < len(text) and len(found) < MAX_DIRECTIVES:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        row = text[at:end].strip()
        if row and not row.startswith("#"):
            break
        start = text.find("#SBATCH", at, end)
        if start >= 0 and not text[at:start].strip():
            comment = text.find(" #", start + 7, end)
            found.append(document_literals(document, start + 7, comment if comment > 0 else end, split=True))
        at = end + 1
    return tuple(found)


def variables(found: tuple[Atoms, ...]) -> dict[str, Var]:
    """Give the variables that Slurm sets from the options, where they are plain numbers."""
    made: dict[str, Var] = {}
    for atoms in found:
        words = fields(a for a in atoms if isinstance(a, Lit))
        for index, word in enumerate(words):
            option, value = _option(word[0], words[index + 1][0] if index + 1 < len(words) else None)
            if value is not None and value.text.isdecimal():
                for name in _VARIABLES.get(option, ()):
                    made[name] = Var((value,), exported=True)
    return made


def _option(word: object, after: object) -> tuple[str, Lit | None]:
    if not isinstance(word, Lit):
        return "", None
    following = after if isinstance(after, Lit) else None
    if word.text in _SHORT:
        return _SHORT[word.text], following
    if word.text.startswith("--"):
        name, equals, _ = word.text[2:].partition("=")
        return name, word.slice(len(name) + 3, len(word.text)) if equals else following
    return "", None
