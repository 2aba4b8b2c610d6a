"""Results kept between runs, outside the work tree: a run whose every input is as it was is not done again.

The key is what was asked (paths, options, settings, rules, versions of meshlint and Python); the entry holds the
report and every path that the run looked at, found or missing. Looking at a path is cheap, so all of them are looked
at again; a file that changed close to the time of storing is compared by content. Anything wrong with the cache (not
writable, broken, from another version) means that there is none.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISDIR, S_ISREG, S_IWGRP, S_IWOTH
from typing import Any

from meshlint.engine.packs import packs
from meshlint.finding import Report
from meshlint.records import dataclass
from meshlint.sources.discover import Scope
from meshlint.sources.tree import MAX_BYTES as MAX_READ

FORM = 2
KEPT = 40
"""Entries kept; the oldest go first."""
KEY_LENGTH = 40
"""Hexadecimal digits of an entry's name."""
RACY = 2.0
"""Seconds: a file that changed so shortly before it was recorded may change again with the same time stamp."""
MAX_BYTES = 64 * 1024 * 1024
CODE = (".py", ".json", ".tsv")
"""Files of a package that decide what a run says."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_OLD = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""How entries are opened: through no link, and without waiting for what is no file."""
VARIABLES = ("HF_HUB_CACHE", "HF_HOME", "HOME", "VIRTUAL_ENV")
"""Variables of this process that decide where a run may look."""


@dataclass(frozen=True, slots=True)
class Key:
    """Where an entry lies, and the time when its run began."""

    file: Path
    began: float


def folder(named: str = "", base: Path | None = None) -> Path:
    """Give the cache folder: the one of the settings, else the platform's."""
    if named:
        return (base or Path.cwd()) / Path(named).expanduser()
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or str(Path.home())
    elif sys.platform == "darwin":
        home = str(Path.home() / "Library" / "Caches")
    else:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "meshlint"


def key(place: Path, scope: Scope, asked: Iterable[str]) -> Key:
    """Give the key of a run; `asked` are the texts of everything that was asked."""
    import hashlib

    digest = hashlib.sha256()
    surroundings = (
        str(FORM),
        sys.version,
        *code_stamps(),
        *(os.environ.get(name, "") for name in VARIABLES),
        *_stamps(sys.path),
        *_stamps(f"{root}/.git/{name}" for root in scope.roots for name in ("index", "HEAD")),
        *_stamps(_hub()),
        str(scope.root),
        *map(str, scope.roots),
    )
    replaced = (f"{path}\1{text}" for path, text in sorted(scope.replaced.items()))
    lists = (
        "\1",
        *scope.files,
        "\1",
        *scope.asked,
        "\1",
        *sorted(scope.named),
        "\1",
        *(scope.code or ()),
        "\1",
        *replaced,
    )
    for part in (*surroundings, "\1", *asked, *lists):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return Key(place / f"{digest.hexdigest()[:KEY_LENGTH]}.json", time.time())


@functools.cache
def code_stamps() -> tuple[str, ...]:
    """Give meshlint's own files and those of every pack, with size and time: another version has other rules."""
    return tuple(_code_stamps())


def _code_stamps() -> Iterable[str]:
    from importlib.util import find_spec

    packages = {"meshlint"} | {entry.value.partition(":")[0].partition(".")[0] for entry in packs()}
    for name in sorted(packages):
        spec = find_spec(name)
        for top in sorted(spec.submodule_search_locations or ()) if spec is not None else ():
            for place, folders, files in os.walk(top):
                folders[:] = sorted(folder for folder in folders if folder[0] not in "._")
                for file in sorted(files):
                    if file.endswith(CODE):
                        yield f"{place}/{file} {_stat(f'{place}/{file}')}"


def _hub() -> Iterable[str]:
    """Give the folders where the hub's cache may lie: they change when a model arrives or goes."""
    home = os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")  # noqa: PTH111
    return (os.environ.get("HF_HUB_CACHE") or f"{home}/hub",)


def _stamps(paths: Iterable[str]) -> Iterable[str]:
    """Give paths with the time when each changed: a folder of packages changes with what is installed."""
    for path in paths:
        stamp = _stat(path)
        yield f"{path} {stamp[1] if stamp else ''}"


def load(where: Key, root: Path) -> Report | None:
    """Give the report of an equal run, or None."""
    from meshlint.engine.store import report_of

    try:
        written, _, text = kept_bytes(where.file, MAX_BYTES).decode("utf-8").partition("\n")
        if written != _checksum(text):
            return None
        entry = json.loads(text)
        if not all(_unchanged(root, path, stamp) for path, stamp in entry["looked"].items()):
            return None
        return report_of(entry["report"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def store(where: Key, root: Path, looked: Iterable[str], report: Report) -> None:
    """Keep a report; whatever goes wrong is nobody's business."""
    from meshlint.engine.store import report_data

    try:
        entry = {"looked": _recorded(root, looked, where.began), "report": report_data(report)}
        text = json.dumps(entry)
        keep(where.file, f"{_checksum(text)}\n{text}".encode(), KEPT)
    except (OSError, ValueError):
        return


def _checksum(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def keep(file: Path, content: bytes, most: int) -> None:
    """Write a file whole or not at all, and leave the `most` newest entries of its ending; raises OSError.

    The folder may hold other people's files of the same ending: only what has a key for a name is taken away.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, _NEW, 0o600), "wb") as held:
            held.write(content)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    ours = (one for one in file.parent.glob(f"*{file.suffix}") if _is_key(one.stem))
    kept = sorted(ours, key=lambda one: one.stat().st_mtime, reverse=True)
    for old in kept[most:]:
        old.unlink(missing_ok=True)


def kept_bytes(file: Path, most: int) -> bytes:
    """Read an entry; nothing for one that is longer than `most`, is no file, or that others may write or have written.

    An entry is believed, and some are read by `marshal`, which must be given nothing that was made to hurt. Raises
    OSError.
    """
    with os.fdopen(os.open(file, _OLD), "rb") as held:
        found = os.fstat(held.fileno())
        return held.read() if found.st_size <= most and _is_ours(found) else b""


def _is_ours(found: os.stat_result) -> bool:
    if not S_ISREG(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & (S_IWGRP | S_IWOTH))


def _is_key(stem: str) -> bool:
    return len(stem) == KEY_LENGTH and set(stem) <= set("0123456789abcdef")


def _recorded(root: Path, looked: Iterable[str], began: float) -> Mapping[str, Any]:
    """Give for each path null where nothing is there, else its stamp, and its content's hash where that is young.

    Of a path with a link in it only the stamp counts: what it leads to is among the paths itself if it was read. The
    same holds for a file that is too long to be read.
    """
    found: dict[str, Any] = {}
    for path in sorted(looked):
        stamp = _stat(os.path.join(root, path))  # noqa: PTH118 - thousands of them
        young = stamp is not None and stamp[1] / 1e9 > began - RACY
        hashed = stamp is not None and young and stamp[0] <= MAX_READ and _is_real(root / path)
        found[path] = [*stamp, _content(root / path)] if stamp is not None and hashed else stamp
    return found


def _is_real(file: Path) -> bool:
    return os.path.realpath(file) == str(file)


def _unchanged(root: Path, path: str, stamp: Any) -> bool:
    now = _stat(os.path.join(root, path))  # noqa: PTH118 - thousands of them
    if stamp is None or now is None:
        return stamp is now
    if len(stamp) == len(now):
        return bool(list(now) == stamp)
    return _content(root / path) == str(stamp[-1])


def _stat(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - thousands of them
    except (OSError, ValueError):
        return None
    if S_ISDIR(found.st_mode):
        return (0, found.st_mtime_ns, 0, found.st_ino)
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _content(file: Path) -> str:
    import hashlib

    try:
        if file.is_dir():
            return hashlib.sha256(
                "\0".join(sorted(p.name for p in file.iterdir())).encode("utf-8", "surrogatepass")
            ).hexdigest()
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    except OSError:
        return ""
