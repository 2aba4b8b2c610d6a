"""Who could read a file that a person named: the files that mention it, and the files that mention those.

It only narrows down what is judged; a launch counts where it truly read the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from meshlint.config.surface import Context
from meshlint.sources.discover import Scope
from meshlint.sources.git import run_git
from meshlint.sources.tree import Unreadable

STEPS = 6
"""Files between a named file and the launch that reads it."""
READABLE = (".sh", ".bash", ".sbatch", ".slurm", ".yaml", ".yml", ".py", ".json", ".toml", ".txt")
PLAIN = (".yaml", ".yml", ".py")
"""Files that others name without their ending: Hydra's configs, Python's modules."""


def readers(scope: Scope, context: Context) -> tuple[str, ...]:
    """Give the files, besides the named ones, that could hold a launch which reads one of them; sorted."""
    found: set[str] = set()
    frontier = sorted(path for path in scope.named if path.endswith(READABLE))
    everything = [path for path in scope.files if path.endswith(READABLE)]
    for _ in range(STEPS):
        words = sorted({_word(path) for path in frontier} - {""})
        if not words:
            break
        frontier = [
            p for p in _mentioning(words, everything, scope, context) if p not in found and p not in scope.named
        ]
        found.update(frontier)
    return tuple(sorted(found))


def _word(path: str) -> str:
    """Give what a file is named by in others; a package by its folder."""
    pure = PurePosixPath(path)
    if pure.name == "__init__.py":
        return pure.parent.name
    return pure.stem if pure.suffix in PLAIN else pure.name


def _mentioning(words: Sequence[str], files: Sequence[str], scope: Scope, context: Context) -> Iterator[str]:
    listed = _by_git(words, scope)
    if listed is None:
        yield from (path for path in files if _mentions(path, words, context))
        return
    known = frozenset(files)
    yield from sorted(path for path in listed if path in known and path not in scope.replaced)
    yield from (path for path in files if path in scope.replaced and _mentions(path, words, context))


def _by_git(words: Iterable[str], scope: Scope) -> set[str] | None:
    """Let git search the checkout, which is many times faster; None where the root is none."""
    if not (scope.root / ".git").exists():
        return None
    patterns = [part for word in words for part in ("-e", word)]
    raw = run_git(scope.root, "grep", "-l", "-z", "-F", "-I", "--untracked", "--no-color", *patterns, "--", none=1)
    return None if raw is None else {os.fsdecode(name) for name in raw.split(b"\0") if name}


def _mentions(path: str, words: Iterable[str], context: Context) -> bool:
    try:
        text = context.tree.read(path).text
    except Unreadable:
        return False
    return any(word in text for word in words)
