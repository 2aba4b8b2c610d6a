"""The sections of a unified diff, one a file: names, modes, and the rows of its hunks.

Whoever wrote the diff may have wanted to be misread: names may be quoted, hold ` b/`, or have no prefix; a text before
it may quote a diff; rows of a hunk are counted and never guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from meshlint.records import dataclass

LINK, MODULE = "120000", "160000"
"""Git's modes of a symbolic link and of a submodule."""
NOWHERE = "/dev/null"
MAX_NAMES = 10_000
"""Characters of two names; no system has longer ones."""
_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_GIT = "diff --git "
_MERGES = ("diff --cc ", "diff --combined ")
_BINARY = ("Binary files ", "GIT binary patch")
_WORDS = (
    "old mode ",
    "new mode ",
    "deleted file mode ",
    "new file mode ",
    "copy from ",
    "copy to ",
    "rename from ",
    "rename to ",
    "index ",
    "similarity index ",
    "dissimilarity index ",
)
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


class PatchError(Exception):
    """A diff that cannot be read, or does not fit the files; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: the first line and the number of lines on both sides, and its rows, each with its mark in front."""

    before: int
    before_length: int
    now: int
    now_length: int
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What a diff says of one file.

    `before` and `path` are names without prefix, empty where the file does not exist on that side; `modes` git's modes
    of both sides, empty where they are not told; `blob` git's name of the content before.
    """

    path: str
    before: str
    hunks: tuple[Hunk, ...] = ()
    modes: tuple[str, str] = ("", "")
    blob: str = ""
    opaque: bool = False
    copied: bool = False


@dataclass(slots=True)
class _Head:
    """The rows of a file's head, by their first words."""

    names: str = ""
    words: dict[str, str] = field(default_factory=dict)
    rows: tuple[str, str] | None = None


def sections(text: str, strip: int = 1) -> Iterator[Section]:
    """Give the sections of a diff; `strip` parts of a name are its prefix. Raises PatchError."""
    rows = text.split("\n")
    if rows[-1] == "":
        rows.pop()
    at = 0
    while at < len(rows):
        if rows[at].startswith(_MERGES):
            raise PatchError("this is the diff of a merge with several parents; take it against one of them")
        if rows[at].startswith(_GIT):
            section, at = _of_git(rows, at, strip)
            yield section
        elif _begins(rows, at):
            head = _Head(rows=(_name(rows[at]), _name(rows[at + 1])))
            hunks, at = _hunks(rows, at + 2)
            yield _plain(head.rows or ("", ""), hunks, strip)
        else:
            at += 1


def _begins(rows: Sequence[str], at: int) -> bool:
    """Say whether a file's hunks begin here: a text may hold a row that begins like one of the three."""
    starts = ("--- ", "+++ ", "@@ -")
    return at + 2 < len(rows) and all(
        row.startswith(start) for row, start in zip(rows[at : at + 3], starts, strict=True)
    )


def _of_git(rows: Sequence[str], at: int, strip: int) -> tuple[Section, int]:
    head = _Head(_bare(rows[at])[len(_GIT) :])
    at += 1
    while at < len(rows) and rows[at].startswith(_WORDS):
        word = next(word for word in _WORDS if rows[at].startswith(word))
        head.words[word.strip()] = _bare(rows[at])[len(word) :]
        at += 1
    opaque = at < len(rows) and rows[at].startswith(_BINARY)
    hunks: tuple[Hunk, ...] = ()
    if _begins(rows, at):
        head.rows = (_name(rows[at]), _name(rows[at + 1]))
        hunks, at = _hunks(rows, at + 2)
    before, path = _names(head, strip)
    index, _, mode = head.words.get("index", "").partition(" ")
    words = head.words
    modes = (
        words.get("old mode") or words.get("deleted file mode") or mode,
        words.get("new mode") or words.get("new file mode") or mode,
    )
    before = "" if "new file mode" in words else before
    path = "" if "deleted file mode" in words else path
    return Section(path, before, hunks, modes, index.partition("..")[0], opaque, "copy from" in words), at


def _plain(names: tuple[str, str], hunks: tuple[Hunk, ...], strip: int) -> Section:
    """Give a section that git did not write; a file that is not there may have a name on both sides."""
    before, path = _stripped(names, 0 if names[0] == names[1] else strip)
    only = hunks[0] if len(hunks) == 1 else None
    if only is not None and only.before == only.before_length == 0:
        before = ""
    if only is not None and only.now == only.now_length == 0:
        path = ""
    return Section(path, before, hunks)


def _hunks(rows: Sequence[str], at: int) -> tuple[tuple[Hunk, ...], int]:
    found = []
    while at < len(rows) and rows[at].startswith("@@ -"):
        hunk, at = _hunk(rows, at)
        found.append(hunk)
    return tuple(found), at


def _hunk(rows: Sequence[str], at: int) -> tuple[Hunk, int]:
    match = _HUNK.match(rows[at])
    if match is None:
        raise PatchError(f"the diff cannot be read: its line {at + 1} is no head of a hunk")
    before, before_length, now, now_length = (int(number) if number else 1 for number in match.groups())
    first, left, due = at + 1, before_length, now_length
    at = first
    while left > 0 or due > 0 or (at < len(rows) and rows[at].startswith("\\")):
        mark = _mark(rows, at)
        left -= mark in "- "
        due -= mark in "+ "
        at += 1
    if left < 0 or due < 0:
        raise PatchError(f"the diff cannot be read: the hunk before its line {at + 1} is longer than its head says")
    return Hunk(before, before_length, now, now_length, tuple(_row(row) for row in rows[first:at])), at


def _mark(rows: Sequence[str], at: int) -> str:
    """Give what a row of a hunk begins with; some programs take the blank off an empty one."""
    if at >= len(rows):
        raise PatchError("the diff cannot be read: it ends within a hunk")
    mark = rows[at].rstrip("\r")[:1] or " "
    if mark not in "-+ \\":
        raise PatchError(f"the diff cannot be read: its line {at + 1} belongs to no hunk")
    return mark


def _row(row: str) -> str:
    """Give a row with its mark, without the carriage return that ends it: files are read without it too."""
    return row.removesuffix("\r") or " "


def _bare(row: str) -> str:
    return row.removesuffix("\r")


def _name(row: str) -> str:
    """Give the name in a row that begins with `--- ` or `+++ `; a tab and a time may follow it."""
    text = _bare(row)[4:]
    return _unquoted(text)[0] if text.startswith('"') else text.partition("\t")[0]


def _names(head: _Head, strip: int) -> tuple[str, str]:
    """Give both names of a section of git's, without prefix."""
    words = head.words
    for kind in ("rename", "copy"):
        if f"{kind} from" in words and f"{kind} to" in words:
            return _whole(words[f"{kind} from"]), _whole(words[f"{kind} to"])
    pair = _pair(head.names, strip)
    if head.rows is not None:
        return _stripped(head.rows, 0 if pair is not None and pair[0] == pair[1] else strip)
    if pair is None:
        raise PatchError(f"the diff cannot be read: `{head.names[:200]}` are not two names")
    return _stripped(pair, 0 if pair[0] == pair[1] else strip)


def _pair(text: str, strip: int) -> tuple[str, str] | None:
    """Split the names of a head, which are equal but for their prefixes, and may hold blanks."""
    if len(text) > MAX_NAMES:
        return None
    if text.startswith('"'):
        first, rest = _unquoted(text)
        return first, _whole(rest.removeprefix(" "))
    middle = len(text) // 2
    halves = text[:middle], text[middle + 1 :]
    if text[middle : middle + 1] == " " and (
        halves[0] == halves[1] or _tail(halves[0], strip) == _tail(halves[1], strip)
    ):
        return halves
    at = text.find(" ")
    while at >= 0:
        if _tail(text[:at], strip) == _tail(text[at + 1 :], strip):
            return text[:at], text[at + 1 :]
        at = text.find(" ", at + 1)
    return None


def _whole(text: str) -> str:
    return _unquoted(text)[0] if text.startswith('"') else text


def _unquoted(text: str) -> tuple[str, str]:
    """Read a name that git quotes as C does, and give what follows it. Raises PatchError."""
    raw, at = bytearray(), 1
    while at < len(text) and text[at] != '"':
        if text[at] != "\\":
            raw += os.fsencode(text[at])
            at += 1
        elif text[at + 1 : at + 2] in _ESCAPES:
            raw.append(_ESCAPES[text[at + 1]])
            at += 2
        elif re.fullmatch("[0-3][0-7]{2}", text[at + 1 : at + 4]):
            raw.append(int(text[at + 1 : at + 4], 8))
            at += 4
        else:
            break
    if text[at : at + 1] != '"':
        raise PatchError(f"the diff cannot be read: `{text}` is no quoted name")
    return os.fsdecode(bytes(raw)), text[at + 1 :]


def _tail(name: str, strip: int) -> str:
    parts = name.split("/", strip)
    return parts[-1] if len(parts) > strip else name


def _stripped(names: tuple[str, str], strip: int) -> tuple[str, str]:
    before, path = ("" if name == NOWHERE else _inside(_tail(name, strip), name) for name in names)
    return before, path


def _inside(name: str, given: str) -> str:
    if name.startswith("/") or ".." in name.split("/") or "\0" in name or not name:
        raise PatchError(f"the diff names `{given}`, which leads out of the tree")
    return name
