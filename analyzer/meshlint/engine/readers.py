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

STEPS = 3
"""Files between a named file and the launch that reads it."""
MOST = 64
"""Files that a step may add; a word that more of them hold names nothing in particular, and leads nowhere."""
SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm")
CONFIGS = (".yaml", ".yml")
"""Scripts and other configs name these; which of them a program takes by itself, its surface knows."""
READABLE = (*SCRIPTS, *CONFIGS, ".py", ".json", ".toml", ".txt")
PLAIN = (CONFIGS, (".py",))
"""Files that others of their kind name without the ending: Hydra's configs, Python's modules."""


def readers(scope: Scope, context: Context) -> tuple[str, ...]:
    """Give the files, besides the named ones, that could hold a launch which reads one of them; sorted."""
    found: set[str] = set()
    frontier = sorted(path for path in scope.named if path.endswith(READABLE))
    everything = [path for path in scope.files if path.endswith(READABLE)]
    for _ in range(STEPS):
        mentioning: set[str] = set()
        for words, endings in _words(frontier):
            mentioning.update(_mentioning(words, [p for p in everything if p.endswith(endings)], scope, context))
        frontier = sorted(path for path in mentioning if path not in found and path not in scope.named)
        if not frontier or len(frontier) > MOST:
            break
        found.update(frontier)
    return tuple(sorted(found))


def _words(paths: Sequence[str]) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Give what files are named by, and the endings of the files that name them so; a package goes by its folder."""
    pures = [PurePosixPath(path) for path in paths]
    forms: tuple[tuple[bool, tuple[str, ...]], ...] = ((True, SCRIPTS + CONFIGS), (False, READABLE))
    for of_config, endings in forms:
        some = (pure for pure in pures if (pure.suffix in CONFIGS) is of_config)
        whole = sorted({pure.name for pure in some if pure.name != "__init__.py"})
        if whole:
            yield whole, endings
    for endings in PLAIN:
        kind = [pure for pure in pures if pure.suffix in endings]
        stems = sorted({pure.parent.name if pure.name == "__init__.py" else pure.stem for pure in kind} - {""})
        if stems:
            yield stems, endings


def _mentioning(words: Sequence[str], files: Sequence[str], scope: Scope, context: Context) -> Iterator[str]:
    listed = _by_git(words, scope)
    if listed is None:
        yield from (path for path in files if _mentions(path, words, context))
        return
    yield from (path for path in files if path in listed and path not in scope.replaced)
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
