"""Reading files, safely: inside the readable roots only, bounded in size, never executed.

Everything that meshlint reads goes through a `Tree`. A `Reader` of it records what it read, so that a launch knows
its dependencies.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from meshlint.records import dataclass

MAX_BYTES = 8 * 1024 * 1024
"""A larger file is not a config or a source file that a person wrote."""

_NO_PATH = "the path leads round in a circle of links or is not a path"
_OUTSIDE = "it lies outside the folders that meshlint may read"


_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""How files in other encodings begin; the longer mark first, since one begins like the other."""


_UTF_7 = (b"+AF8-", b"+ACQ-", b"+ACI-", b"+AFw-", b"+AHs-")
"""What UTF-7 makes of `_`, `$`, `"`, the backslash and `{`; no other text holds several of these."""


class Unreadable(Exception):  # noqa: N818 - a diagnostic, shown as one sentence
    """A file that cannot be read; `sentence` says why, in words for a person."""

    def __init__(self, path: str, sentence: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"{path}: {sentence}")
        self.path = path
        self.sentence = sentence
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text; `path` as shown (see `Span`), `file` where it lies."""

    path: str
    file: Path
    text: str


@dataclass(slots=True)
class Tree:
    """The files that may be read: everything under `roots`; paths are shown relative to `root`.

    `replaced` gives the text of paths, as shown, that are to be read as something else than they are: the other side
    of a change; None where no file is there.
    """

    root: Path
    roots: tuple[Path, ...]
    replaced: Mapping[str, str | None] = field(default_factory=dict)
    _texts: dict[Path, Text | Unreadable] = field(default_factory=dict)
    _read: dict[str | Path, Text] = field(default_factory=dict)
    """What was read, by the path as asked: every surface asks for every file."""
    _places: dict[str, Path | str] = field(default_factory=dict)
    _reals: dict[str, str] = field(default_factory=dict)
    """Where files lie of which no more was asked than what is known of them."""
    _folders: dict[str, str] = field(default_factory=dict)
    _held: dict[str, bool] = field(default_factory=dict)
    """Whether a folder lies in a readable root."""
    _stats: dict[str, os.stat_result] = field(default_factory=dict)
    """What is known of files that are no links, from when they were found."""
    _noted: set[str] = field(default_factory=set)

    def admit(self, folder: Path) -> None:
        """Allow reading of one more folder: the data of an installed package that a launch names."""
        real = folder.resolve()
        if real not in self.roots:
            self.roots = (*self.roots, real)
            self._texts = {file: text for file, text in self._texts.items() if isinstance(text, Text)}
            self._places.clear()
            self._reals.clear()
            self._held.clear()

    def note(self, folder: str | Path) -> None:
        """Note that a folder or a file was looked at without being read: what a run says depends on what is in it."""
        self._noted.add(str(folder))

    def shown(self, file: Path) -> str:
        """Give the path as it is shown: POSIX, relative to the root where it lies inside."""
        return self._shown(str(file))

    def _shown(self, text: str) -> str:
        top = f"{str(self.root).rstrip(os.sep)}{os.sep}"
        return (text[len(top) :] if text.startswith(top) else text).replace(os.sep, "/")

    def locate(self, path: str | Path, beside: str = "") -> Path:
        """Give the absolute file for a path as shown or written.

        Relative paths count from the folder of `beside`, or from the root. Raises Unreadable where the path leaves
        the readable roots, through links too.
        """
        text = str(path)
        if not os.path.isabs(text):
            base = os.path.dirname(os.path.join(self.root, beside)) if beside else str(self.root)
            text = os.path.join(base, text)
        known = self._places.get(text)
        if known is None:
            known = self._places[text] = self._locate(text)
        if isinstance(known, Path):
            return known
        raise Unreadable(self.shown(Path(text)) if known is _OUTSIDE else str(path), known)

    def _locate(self, text: str) -> Path | str:
        """Give the file, or the sentence that says why there is none."""
        try:
            real = self._real(text)
        except (OSError, ValueError):
            return _NO_PATH
        if real is None:
            return _NO_PATH
        return Path(real) if self._readable(real) else _OUTSIDE

    def _readable(self, real: str) -> bool:
        """Say whether a file lies in a readable root: as its folder does, or is one itself."""
        folder = _parted(real)[0]
        known = self._held.get(folder)
        if known is None:
            known = self._held[folder] = any(_holds(str(root), folder) for root in self.roots)
        return known or any(_holds(str(root), real) for root in self.roots)

    def _real(self, text: str) -> str | None:
        """Resolve links, None where they lead in a circle; the folders of a tree are few, so each is resolved once."""
        folder, name = _parted(text)
        if name in ("", ".", ".."):
            return _resolved(text)
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = os.path.realpath(folder).rstrip(os.sep)
        real = f"{known}{os.sep}{name}"
        try:
            found = os.lstat(real)
        except (OSError, ValueError):
            return real
        if stat.S_ISLNK(found.st_mode):
            return _resolved(real)
        self._stats[real] = found
        return real

    def stat(self, path: str | Path) -> os.stat_result:
        """Give what is known of a file, as it was when it was found; raises Unreadable, OSError and ValueError."""
        text = os.path.join(self.root, path)
        file = self._reals.get(text)
        if file is None:
            real = self._real(text)
            file = self._reals[text] = real if real and self._readable(real) else str(self.locate(path))
        return self._stats.get(file) or os.stat(file)

    def looked(self) -> frozenset[str]:
        """Give every path that was looked at, as shown, found or not."""
        asked = {text: place for text, place in self._places.items() if place is not _OUTSIDE or self._inside(text)}
        found = (str(place) if isinstance(place, Path) else text for text, place in asked.items())
        known = (*self._reals, *self._reals.values())
        return frozenset(self._shown(text) for text in (*asked, *found, *known, *self._noted))

    def _inside(self, text: str) -> bool:
        """Say whether a path seems to lie in the readable roots, so that only a link leads out of them."""
        return any(_holds(str(root), os.path.normpath(text)) for root in self.roots)

    def read(self, path: str | Path, beside: str = "") -> Text:
        """Read a text file, or raise Unreadable with the reason in one sentence."""
        if not beside and path in self._read:
            return self._read[path]
        file = self.locate(path, beside)
        known = self._texts.get(file)
        if known is None:
            known = self._texts[file] = self._load(file)
        if isinstance(known, Unreadable):
            raise self._of_link(path, beside) or known
        if not beside:
            self._read[path] = known
        return known

    def peek(self, path: str | Path) -> str:
        """Give a file's text with bytes that are no UTF-8 replaced, to ask what it speaks of; else nothing."""
        try:
            file = self.locate(path)
            if self.replaced and self._shown(str(file)) in self.replaced:
                return self.replaced[self._shown(str(file))] or ""
            if not file.is_file() or file.stat().st_size > MAX_BYTES:
                return ""
            return file.read_bytes().decode("utf-8", errors="replace")
        except (Unreadable, OSError):
            return ""

    def glance(self, path: str | Path) -> str:
        """Give a file's text, to ask what it speaks of; also where its encoding keeps it from being parsed."""
        try:
            return self.read(path).text
        except Unreadable:
            return self.peek(path)

    def _of_link(self, path: str | Path, beside: str) -> Unreadable | None:
        """Blame a link that leads to nothing, not the file that is not there."""
        link = os.path.join(self.root, os.path.dirname(beside), path)
        try:
            if not os.path.islink(link) or os.path.exists(link):
                return None
            target = os.readlink(link)
        except (OSError, ValueError):
            return None
        return Unreadable(self.shown(Path(link)), f"it is a link to `{target}`, and there is no such file")

    def exists(self, path: str | Path, beside: str = "") -> bool:
        """Say whether a readable file is there."""
        try:
            file = self.locate(path, beside)
            if self.replaced and self._shown(str(file)) in self.replaced:
                return self.replaced[self._shown(str(file))] is not None
            return file.is_file()
        except Unreadable:
            return False

    def is_folder(self, path: str | Path) -> bool:
        """Say whether a readable folder is there."""
        try:
            return self.locate(path).is_dir()
        except (Unreadable, OSError):
            return False

    def _load(self, file: Path) -> Text | Unreadable:
        shown = self.shown(file)
        if shown in self.replaced:
            text = self.replaced[shown]
            return Unreadable(shown, "there is no such file") if text is None else Text(shown, file, text)
        try:
            status = os.stat(file)
            if not stat.S_ISREG(status.st_mode):
                return Unreadable(shown, "it is not a plain file")
            if status.st_size > MAX_BYTES:
                return Unreadable(shown, f"it has {status.st_size:,} bytes; meshlint reads at most {MAX_BYTES:,}")
            raw = file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return Unreadable(shown, "there is no such file")
        except OSError as error:
            return Unreadable(shown, f"it cannot be read: {error.strerror}")
        return decoded(shown, file, raw)


def decoded(shown: str, file: Path, raw: bytes) -> Text | Unreadable:
    """Give the text of a file by its bytes, or why it has none."""
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8-sig")
    if encoding == "utf-8-sig" and b"\0" in raw:
        return Unreadable(shown, "it is a binary file")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        if encoding != "utf-8-sig":
            return Unreadable(shown, f"it begins like {encoding.upper()}, and is not", line)
        return Unreadable(shown, f"it is not UTF-8 at byte {error.start}", line)
    if "\0" in text:
        return Unreadable(shown, "it is a binary file")
    if b"+A" in raw and sum(raw.count(mark) for mark in _UTF_7) > 1:
        return Unreadable(shown, "it is UTF-7, which neither a shell nor Python reads")
    return Text(shown, file, text.replace("\r\n", "\n"))


def _parted(text: str) -> tuple[str, str]:
    """Split a path as `os.path.split` does, which is slow for what is asked of every file."""
    if os.sep != "/":
        return os.path.split(text)
    folder, _, name = text.rpartition("/")
    return folder or "/", name


def _resolved(text: str) -> str | None:
    real = os.path.realpath(text)
    return None if os.path.islink(real) else real


def _holds(folder: str, file: str) -> bool:
    return file == folder or file.startswith(f"{folder.rstrip(os.sep)}{os.sep}")


@dataclass(slots=True)
class Reader:
    """A tree's reader that records the paths it touched, found or missing."""

    tree: Tree
    seen: set[str] = field(default_factory=set)

    def read(self, path: str | Path, beside: str = "") -> Text:
        """Read as `Tree.read`, and record it."""
        text = self.tree.read(path, beside)
        self.seen.add(text.path)
        return text

    def exists(self, path: str | Path, beside: str = "") -> bool:
        """Ask as `Tree.exists`, and record the question."""
        try:
            self.seen.add(self.tree.shown(self.tree.locate(path, beside)))
        except Unreadable:
            return False
        return self.tree.exists(path, beside)

    def readable(self, paths: Iterable[str]) -> Iterator[Text]:
        """Give the texts of those paths that can be read."""
        for path in paths:
            try:
                yield self.read(path)
            except Unreadable:
                continue
