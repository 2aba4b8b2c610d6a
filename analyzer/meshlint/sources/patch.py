"""Unified diffs: which lines a change adds, and what its files were before.

A diff is read with unidiff and undone on the files as they are now, so that no checkout of the other side is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from meshlint.records import dataclass

if TYPE_CHECKING:
    from unidiff.patch import PatchedFile

    from meshlint.sources.tree import Tree

MAX_BYTES = 64 * 1024 * 1024
"""A longer diff is not read."""


class PatchError(Exception):
    """A diff that cannot be read, or does not fit the files; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a change does to one file.

    `path` is its path now and `before` its path before, as shown; either is empty where the file does not exist on
    that side. `added` are line numbers of the new side, `hunks` the first and last line of each hunk there, with its
    context. `undo` are the hunks as (first line now, lines now, lines before); `opaque`: the content is not text.
    """

    path: str
    before: str
    added: frozenset[int] = frozenset()
    hunks: tuple[tuple[int, int], ...] = ()
    undo: tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...] = ()
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Patch:
    """A change: its files, in the order of the diff."""

    files: tuple[FileChange, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Give the paths that exist now."""
        return tuple(change.path for change in self.files if change.path)

    @property
    def former(self) -> Mapping[str, str]:
        """Give, for a path of now, the one before where the file was renamed."""
        return {c.path: c.before for c in self.files if c.path and c.before and c.path != c.before}

    def of(self, path: str) -> FileChange | None:
        """Give what happens to a path of now."""
        return next((change for change in self.files if change.path == path), None)


def read_patch(text: str, strip: int = 1) -> Patch:
    """Read a unified diff; `strip` path parts are git's `a/` and `b/`. Raises PatchError."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    if len(text) > MAX_BYTES:
        raise PatchError(f"the diff has {len(text):,} characters; meshlint reads at most {MAX_BYTES:,}")
    try:
        files = list(PatchSet(text))
    except (UnidiffParseError, ValueError, IndexError) as error:
        raise PatchError(
            f"the diff cannot be read: {str(error).splitlines()[0][:120] if str(error) else error}"
        ) from None
    if not files and text.strip():
        raise PatchError("this is not a unified diff")
    return Patch(tuple(_change(file, strip) for file in files))


def _change(file: PatchedFile, strip: int) -> FileChange:
    before = "" if file.is_added_file else _stripped(file.source_file, strip)
    path = "" if file.is_removed_file else _stripped(file.target_file, strip)
    added = frozenset(line.target_line_no or 0 for hunk in file for line in hunk if line.is_added)
    hunks = tuple(
        (hunk.target_start, max(hunk.target_start, hunk.target_start + hunk.target_length - 1)) for hunk in file
    )
    undo = tuple(
        (
            hunk.target_start + (1 if hunk.target_length == 0 else 0),
            tuple(line.value for line in hunk if line.is_added or line.is_context),
            tuple(line.value for line in hunk if line.is_removed or line.is_context),
        )
        for hunk in file
    )
    return FileChange(path, before, added, hunks, undo, bool(file.is_binary_file))


def _stripped(path: str, strip: int) -> str:
    if path == "/dev/null":
        return ""
    parts = path.split("/", strip)
    text = parts[-1] if len(parts) > strip else path
    if text.startswith("/") or ".." in text.split("/"):
        raise PatchError(f"the diff names `{path}`, which leads out of the tree")
    return text


def undo(patch: Patch, tree: Tree) -> dict[str, str | None]:
    """Give what differs before a change: the text of each such file by its path, None where there was none.

    Raises PatchError where the diff does not fit what is there now.
    """
    contents: dict[str, str | None] = {c.path: None for c in patch.files if c.path and c.path != c.before}
    for change in patch.files:
        if change.before and not change.opaque:
            contents[change.before] = _before(change, tree)
    return contents


def _before(change: FileChange, tree: Tree) -> str:
    from meshlint.sources.tree import Unreadable

    if not change.path:
        return "".join(line for _, _, old in change.undo for line in old)
    try:
        now = tree.read(change.path).text.splitlines(keepends=True)
    except Unreadable as error:
        raise PatchError(f"the diff changes `{change.path}`, and {error.sentence}") from None
    return "".join(_undone(now, change))


def _undone(now: list[str], change: FileChange) -> Iterator[str]:
    at = 0
    for first, lines, before in change.undo:
        start = first - 1
        there = now[start : start + len(lines)]
        if start < at or [_bare(line) for line in there] != [_bare(line) for line in lines]:
            raise PatchError(f"the diff does not fit `{change.path}` as it is now, at line {first}")
        yield from now[at:start]
        yield from before
        at = start + len(lines)
    yield from now[at:]


def _bare(line: str) -> str:
    """Compare lines without what ends them: a tree's text has plain newlines, and the last line may have none."""
    return line.rstrip("\r\n")
