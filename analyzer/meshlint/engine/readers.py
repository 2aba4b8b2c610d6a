"""Who could read a file that a person named: the files that mention it, and the files that mention those.

It only narrows down what is judged; a launch counts where it truly read the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from meshlint.sources import search
from meshlint.sources.discover import SCRIPTS, Scope
from meshlint.sources.search import Search, Sought
from meshlint.sources.tree import Tree

STEPS = 3
"""Files between a named file and the launch that reads it."""
MOST = 64
"""Files that a step may add; a word that more of them hold names nothing in particular, and leads nowhere."""
CONFIGS = (".yaml", ".yml")
"""Scripts and other configs name these; which of them a program takes by itself, its surface knows."""
MENTIONING = (*SCRIPTS, *CONFIGS, ".py", ".toml", ".txt")
"""Files that name others. No reader follows a name out of JSON, and recorded results hold megabytes of it."""
READABLE = (*MENTIONING, ".json")
PLAIN = (CONFIGS, (".py",))
"""Files that others of their kind name without the ending: Hydra's configs, Python's modules."""


def begin(scope: Scope) -> Search:
    """Start to look for those who mention the named files, unless they are known."""
    return search.begin(scope, _sought(_named(scope)) if scope.readers is None else ())


def readers(scope: Scope, tree: Tree, begun: Search | None = None) -> tuple[str, ...]:
    """Give the files, besides the named ones, that could hold a launch which reads one of them; sorted."""
    if scope.readers is not None:
        return scope.readers
    found: set[str] = set()
    frontier = _named(scope)
    for _ in range(STEPS):
        mentioning = (begun or search.begin(scope, _sought(frontier))).found(tree)
        begun = None
        frontier = sorted(path for path in mentioning if path not in found and path not in scope.named)
        if not frontier or len(frontier) > MOST:
            break
        found.update(frontier)
    return tuple(sorted(found))


def _named(scope: Scope) -> list[str]:
    return sorted(path for path in scope.named if path.endswith(READABLE))


def _sought(paths: Sequence[str]) -> Iterator[Sought]:
    """Give what files are named by, and the endings of the files that name them so; a package goes by its folder."""
    pures = [PurePosixPath(path) for path in paths]
    forms: tuple[tuple[bool, tuple[str, ...]], ...] = ((True, SCRIPTS), (False, MENTIONING))
    for of_config, endings in forms:
        some = (pure for pure in pures if (pure.suffix in CONFIGS) is of_config)
        whole = sorted({pure.name for pure in some if pure.name != "__init__.py"})
        if whole:
            yield Sought(tuple(whole), endings)
    for endings in PLAIN:
        kind = [pure for pure in pures if pure.suffix in endings]
        stems = sorted({pure.parent.name if pure.name == "__init__.py" else pure.stem for pure in kind} - {""})
        if stems:
            yield Sought(tuple(stems), endings)
