"""A checkout as it was at a revision, read in memory: nothing is checked out, and no filter of the checkout is run.

Only what differs from the files as they are is asked of git, one blob at a time, when it is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path, PurePosixPath

from meshlint.records import dataclass
from meshlint.sources.git import blob, run_git, unfiltered
from meshlint.sources.tree import MAX_BYTES

MAX_LINKS = 8
"""Links that lead on to links."""
_LINK, _MODULE = "120000", "160000"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a revision holds at a path: git's mode, and the name of the blob or the commit."""

    mode: str
    name: str


@dataclass(slots=True)
class Revision:
    """A commit of the checkout at `top`: its entries by path from there, and the paths that differ from now."""

    top: Path
    commit: str
    entries: Mapping[str, Entry]
    changed: frozenset[str]
    _texts: dict[str, str | None] = field(default_factory=dict)

    @property
    def files(self) -> Iterator[str]:
        """Give the files, links among them, in the order of their paths."""
        return (path for path, entry in self.entries.items() if entry.mode != _MODULE)

    @property
    def modules(self) -> Mapping[str, str]:
        """Give the commit of each submodule by its path."""
        return {path: entry.name for path, entry in self.entries.items() if entry.mode == _MODULE}

    def text(self, path: str) -> str | None:
        """Give the text of a file; None where there is none, or no text."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def followed(self, path: str) -> str:
        """Give a path without the links on its way, its last part among them, that lead on inside the revision."""
        for _ in range(MAX_LINKS):
            parts = PurePosixPath(path).parts
            heads = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
            link = next((head for head in heads if self._is_link(head)), None)
            raw = blob(self.top, self.entries[link].name, MAX_BYTES) if link is not None else None
            if link is None or raw is None:
                return path
            led = PurePosixPath(link).parent / os.fsdecode(raw) / PurePosixPath(path).relative_to(link)
            path = os.path.normpath(str(led))
        return path

    def _is_link(self, path: str) -> bool:
        entry = self.entries.get(path)
        return entry is not None and entry.mode == _LINK

    def _read(self, path: str) -> str | None:
        for _ in range(MAX_LINKS):
            entry = self.entries.get(path)
            if entry is None or entry.mode == _MODULE:
                return None
            raw = blob(self.top, entry.name, MAX_BYTES)
            if entry.mode != _LINK or raw is None:
                return None if raw is None else _decoded(raw)
            path = os.path.normpath(str(PurePosixPath(path).parent / os.fsdecode(raw)))
        return None


def _decoded(raw: bytes) -> str | None:
    """Read a blob as `Tree` reads a file in UTF-8; nothing for other files."""
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n") if b"\0" not in raw else None
    except UnicodeDecodeError:
        return None


def revision(top: Path, word: str) -> Revision | None:
    """Give a revision by whatever git takes for a commit; None where it is none, or git cannot tell."""
    if word.startswith("-"):
        return None
    found = run_git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{word}^{{commit}}")
    if found is None:
        return None
    commit = found.decode("ascii", "replace").strip()
    listed = run_git(top, "ls-tree", "-r", "-z", "--full-tree", commit)
    plainly = unfiltered(top)
    if listed is None or plainly is None:
        return None
    words = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    changed = run_git(top, *plainly, "diff", *words, commit, "--")
    if changed is None:
        return None
    names = frozenset(os.fsdecode(raw) for raw in changed.split(b"\0") if raw)
    return Revision(top, commit, dict(_entries(listed)), names)


def _entries(listed: bytes) -> Iterator[tuple[str, Entry]]:
    for row in listed.split(b"\0"):
        meta, tab, path = row.partition(b"\t")
        words = meta.decode("ascii", "replace").split()
        if tab and len(words) == 3:
            yield os.fsdecode(path), Entry(words[0], words[2])


class Replaced(Mapping[str, str | None]):
    """What a tree reads in place of the files as they are: `Scope.replaced` of a revision, each text read on demand.

    `gone` are the paths, as shown, that are there now and were not; `inside` turns a shown path into one of the
    revision.
    """

    def __init__(self, held: Revision, shown: Callable[[str], str], gone: frozenset[str]) -> None:
        self._held = held
        modules = {*held.modules} & held.changed
        self._changed = {shown(path): path for path in sorted(held.changed - modules)}
        self._gone = gone - self._changed.keys()
        self._modules = tuple(f"{shown(path)}/" for path in sorted(modules))

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and (
            path in self._changed or path in self._gone or path.startswith(self._modules or ("\0",))
        )

    def __getitem__(self, path: str) -> str | None:
        if path in self._changed:
            return self._held.text(self._changed[path])
        if path in self:
            return None
        raise KeyError(path)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._changed, *self._gone}))

    def __len__(self) -> int:
        return len(self._changed) + len(self._gone) + len(self._modules)
