"""Unified diffs: which lines a change adds, and what its files were before.

A diff is undone on the files as they are now, so that no checkout of the other side is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from meshlint.records import dataclass
from meshlint.sources.sections import LINK, MODULE, Hunk, PatchError, Section, sections

if TYPE_CHECKING:
    from meshlint.sources.tree import Tree

__all__ = ["FileChange", "Patch", "PatchError", "Undone", "read_patch", "undo"]

MAX_BYTES = 64 * 1024 * 1024
"""A longer diff is not read."""
LOST = "\ufffd"
"""What stands for bytes that are no UTF-8."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a change does to one file.

    `path` is its path now and `before` its path before, as shown; either is empty where the file does not exist on
    that side. `added` are line numbers of the new side, `hunks` the first and last line of each hunk there, with its
    context. `undo` are the hunks as (first line now, lines now, lines before), `stays` the lines in them that stay, as
    (line now, line before); `opaque`: the content is not text, `blob` is then git's name of that before, if it is
    told. `links` says on which sides, before and now, it is a symbolic link; `copied`: the file before is still there.
    """

    path: str
    before: str
    added: frozenset[int] = frozenset()
    hunks: tuple[tuple[int, int], ...] = ()
    undo: tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...] = ()
    stays: tuple[tuple[int, int], ...] = ()
    opaque: bool = False
    blob: str = ""
    links: tuple[bool, bool] = (False, False)
    copied: bool = False

    def then(self, line: int) -> int | None:
        """Give the number that a line of now had before; None for an added one."""
        if line in self.added:
            return None
        within = dict(self.stays).get(line)
        if within is not None:
            return within
        return line - sum(len(now) - len(before) for first, now, before in self.undo if first + len(now) <= line)


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
        return {c.path: c.before for c in self.files if c.path and c.before and c.path != c.before and not c.copied}

    def of(self, path: str) -> FileChange | None:
        """Give what happens to a path of now."""
        return next((change for change in self.files if change.path == path), None)


def read_patch(text: str, strip: int = 1) -> Patch:
    """Read a unified diff; `strip` path parts are git's `a/` and `b/`. Submodules are left out. Raises PatchError."""
    if len(text) > MAX_BYTES:
        raise PatchError(f"the diff is longer than the {MAX_BYTES:,} bytes that meshlint reads")
    found = list(sections(text, strip))
    if not found and text.strip():
        raise PatchError("this is not a unified diff")
    for side in ([one.path for one in found], [one.before for one in found if not one.copied]):
        names = [name for name in side if name]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise PatchError(f"the diff changes `{twice}` twice; give one diff of the whole change")
    return Patch(tuple(_change(section) for section in found if MODULE not in section.modes))


def _change(section: Section) -> FileChange:
    marked = [_marked(hunk) for hunk in section.hunks]
    return FileChange(
        section.path,
        section.before,
        frozenset(now for lines in marked for mark, now, _, _ in lines if mark == "+"),
        tuple((hunk.now, max(hunk.now, hunk.now + hunk.now_length - 1)) for hunk in section.hunks),
        tuple(_undo(hunk, lines) for hunk, lines in zip(section.hunks, marked, strict=True)),
        tuple((now, before) for lines in marked for mark, now, before, _ in lines if mark == " "),
        section.opaque,
        section.blob,
        (section.modes[0] == LINK, section.modes[1] == LINK),
        section.copied,
    )


def _marked(hunk: Hunk) -> list[tuple[str, int, int, str]]:
    """Give the lines of a hunk: the mark, the numbers now and before, and the text with what ends it."""
    lines: list[tuple[str, int, int, str]] = []
    now, before = hunk.now, hunk.before
    for row in hunk.rows:
        mark = row[0]
        if mark == "\\":
            lines[-1:] = [(*line[:3], line[3].removesuffix("\n")) for line in lines[-1:]]
            continue
        lines.append((mark, now, before, f"{row[1:]}\n"))
        now += mark in "+ "
        before += mark in "- "
    return lines


def _undo(hunk: Hunk, lines: list[tuple[str, int, int, str]]) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    return (
        hunk.now + (hunk.now_length == 0),
        tuple(text for mark, _, _, text in lines if mark in "+ "),
        tuple(text for mark, _, _, text in lines if mark in "- "),
    )


@dataclass(frozen=True, slots=True)
class Undone:
    """What differs before a change: the text of each such file by its path, None where there was none.

    `unknown` are files that can be read now, and of which nothing tells what they were: they count as new.
    """

    contents: Mapping[str, str | None]
    unknown: tuple[str, ...] = ()


def undo(patch: Patch, tree: Tree, blob: Callable[[FileChange], str | None] = lambda change: None) -> Undone:
    """Undo a change in memory; `blob` gives the text that a file was whose content the diff does not show.

    Raises PatchError where the diff does not fit what is there now.
    """
    contents: dict[str, str | None] = {c.path: None for c in patch.files if c.path and c.path != c.before}
    unknown = []
    for change in patch.files:
        if not change.before or change.copied:
            continue
        if any(change.links):
            contents |= _of_link(change, tree)
        elif not change.opaque:
            contents |= _before(change, tree)
        elif (text := blob(change)) is not None:
            contents[change.before] = text
        elif change.path and _is_text(change.path, tree):
            contents[change.before] = None
            unknown.append(change.path)
    return Undone(contents, tuple(unknown))


def _of_link(change: FileChange, tree: Tree) -> dict[str, str | None]:
    """Give what stood behind a link that is none any more; one that leads elsewhere now is read as it is."""
    from meshlint.sources.tree import Unreadable

    if change.links[1]:
        return {}
    target = "".join(line for _, _, old in change.undo for line in old)
    try:
        return {change.before: tree.read(target, beside=change.before).text}
    except Unreadable:
        return {}


def _is_text(path: str, tree: Tree) -> bool:
    from meshlint.sources.tree import Unreadable

    try:
        tree.read(path)
    except Unreadable:
        return False
    return True


def _before(change: FileChange, tree: Tree) -> dict[str, str | None]:
    """Give what a file was; nothing where that is not known, and where it was unreadable as it is now."""
    from meshlint.sources.tree import Unreadable

    if not change.path:
        return {change.before: "".join(line for _, _, old in change.undo for line in old).removeprefix("\ufeff")}
    try:
        now = tree.read(change.path).text
    except Unreadable as error:
        if not tree.exists(change.path):
            raise PatchError(f"the diff changes `{change.path}`, and {error.sentence}") from None
        return _of_unreadable(change, tree)
    return {change.before: "".join(_undone(_lines(now), change)).removeprefix("\ufeff")}


def _of_unreadable(change: FileChange, tree: Tree) -> dict[str, str | None]:
    """Give what a file was that is no text now; nothing where it was none before, or is too long to look at."""
    now = tree.peek(change.path).removeprefix("\ufeff").replace("\r\n", "\n")
    if not _lost(now):
        return {}
    was = "".join(_undone(_lines(now), change))
    return {} if _lost(was) else {change.before: was}


def _lost(text: str) -> bool:
    return LOST in text or "\0" in text


def _lines(text: str) -> list[str]:
    """Split a text at newlines alone, as git does: other characters end no line."""
    rows = [f"{row}\n" for row in text.split("\n")]
    return [*rows[:-1], rows[-1][:-1]] if rows[-1] != "\n" else rows[:-1]


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
    """Compare lines without what ends them, and without the mark that a text may begin with."""
    return line.removeprefix("\ufeff").rstrip("\r\n")
