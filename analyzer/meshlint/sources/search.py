"""Which files of a tree hold a word; in a checkout git searches, which is many times faster than reading."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from meshlint.records import dataclass
from meshlint.sources.discover import Scope
from meshlint.sources.git import Running, start_git
from meshlint.sources.tree import Tree, Unreadable

FEW = 40
"""Files that are sooner read than asked about."""


@dataclass(frozen=True, slots=True)
class Sought:
    """Words, one of which a file is to hold, and the endings of the files that count."""

    words: tuple[str, ...]
    endings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Started:
    sought: Sought
    files: tuple[str, ...]
    git: Running | None
    read: frozenset[str] = frozenset()
    """Files that git does not search."""


@dataclass(frozen=True, slots=True)
class Search:
    """Searches at work, begun early so that they cost no time of their own; they end with the `with` around them."""

    scope: Scope
    parts: tuple[_Started, ...]

    def found(self, tree: Tree) -> frozenset[str]:
        """Give the files that hold a word, as shown; every file that counted is noted as looked at."""
        return frozenset(path for part in self.parts for path in self._of(part, tree))

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        """End what is still at work."""
        for part in self.parts:
            if part.git is not None:
                part.git.stop()

    def _of(self, part: _Started, tree: Tree) -> Iterator[str]:
        raw = part.git.finish(none=1) if part.git is not None else None
        listed = None if raw is None else {os.fsdecode(name) for name in raw.split(b"\0") if name}
        for path in part.files:
            unsearched = path in part.read or path in self.scope.replaced or path in self.scope.named
            if listed is None or unsearched or path.startswith("/"):
                if _holds(path, part.sought.words, tree):
                    yield path
                continue
            tree.note(path)
            if path in listed:
                yield path


def begin(scope: Scope, wanted: Iterable[Sought], ask_git: bool = True) -> Search:
    """Start to search the files of a scope, each kind for its words; without git where all are read anyway."""
    return Search(scope, tuple(_start(scope, sought, ask_git) for sought in wanted))


def _start(scope: Scope, sought: Sought, ask_git: bool) -> _Started:
    files = tuple(path for path in scope.files if path.endswith(sought.endings))
    if not ask_git or len(files) <= FEW or not (scope.root / ".git").exists():
        return _Started(sought, files, None)
    patterns = [part for word in sought.words for part in ("-e", word)]
    paths = [f"*{ending}" for ending in sought.endings]
    loose = _few_loose(files, scope)
    wide = ("--untracked",) if loose is None else ()
    arguments = ("grep", "-l", "-z", "-F", "-a", *wide, "--no-color", *patterns, "--", *paths)
    return _Started(sought, files, start_git(scope.root, *arguments), loose or frozenset())


def _few_loose(files: Iterable[str], scope: Scope) -> frozenset[str] | None:
    """Give the files that are sooner read, so that git need not walk the folders for them; None for many."""
    if scope.loose is None:
        return None
    loose = scope.loose.intersection(files)
    return loose if len(loose) <= FEW else None


def _holds(path: str, words: Sequence[str], tree: Tree) -> bool:
    try:
        text = tree.read(path).text
    except Unreadable:
        return False
    return any(word in text for word in words)
