"""Facts of every Python file in scope: from the cache where a file is as it was, else read anew by several processes.

The cache is one file for a tree: for each path the stamp of the file, the hash of its text and its facts as bytes. Only
these bytes cross between processes; trees of syntax are dropped where they were made. A pack that is broken, or from
another version of meshlint or Python, counts as none.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from meshlint.config.surface import Context
from meshlint.engine import split
from meshlint.engine.cache import RACY, keep
from meshlint.engine.gather import Tick
from meshlint.protocol import facts as reading
from meshlint.protocol.facts import FileFacts, read
from meshlint.records import dataclass
from meshlint.sources.tree import Tree, Unreadable

MARK = b"meshlint facts 1\n"
KEPT = 8
"""Packs kept; the oldest go first."""
MAX_BYTES = 512 * 1024 * 1024

Stamp = tuple[int, ...]
Row = tuple[Stamp, str, bytes]
"""The stamp of a file (empty: do not trust it), the hash of its text, and its facts."""


@dataclass(slots=True)
class Facts(Mapping[str, FileFacts]):
    """Facts by path, decoded when they are asked for first."""

    rows: dict[str, Row]
    _decoded: dict[str, FileFacts] = field(default_factory=dict)

    def __getitem__(self, path: str) -> FileFacts:
        known = self._decoded.get(path)
        if known is None:
            known = self._decoded[path] = FileFacts.load(self.rows[path][2])
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, path: object) -> bool:
        return path in self.rows


def facts_of_files(paths: Sequence[str], context: Context, folder: Path | None, tick: Tick | None = None) -> Facts:
    """Give the facts of the files that can be read, in the order of the paths; `folder` holds the cache, if any."""
    began = time.time()
    pack = None if folder is None else _pack(folder, context.tree)
    known = {} if pack is None else load(pack)
    stamps = {path: stamp for path in paths if (stamp := _stamp(context.tree, path)) is not None}
    fresh = [
        path
        for path, stamp in stamps.items()
        if path not in known or known[path][0] != stamp or path in context.tree.replaced
    ]
    rows = {**known, **_read(fresh, known, context, tick)}
    rows = {path: rows[path] for path in stamps if path in rows}
    for path in fresh:
        if path in rows:
            rows[path] = (_trusted(stamps[path], began), *rows[path][1:])
    if pack is not None and not context.tree.replaced and (fresh or rows.keys() != known.keys()):
        store(pack, rows)
    return Facts(rows)


def _read(fresh: list[str], known: Mapping[str, Row], context: Context, tick: Tick | None) -> dict[str, Row]:
    """Read files that are not known as they are; a text that is the same after all keeps its facts."""

    def work(part: Sequence[str], here: bool) -> dict[str, Row]:
        tree = Tree(context.tree.root, context.tree.roots, context.tree.replaced)
        found: dict[str, Row] = {}
        for place, path in enumerate(part):
            if here and tick is not None:
                tick(place, len(part), path)
            row = _row(tree, path, known.get(path))
            if row is not None:
                found[path] = row
        return found

    found: dict[str, Row] = {}
    for part in split.share(fresh, work, split.workers(len(fresh))):
        found |= part
    return found


def _row(tree: Tree, path: str, known: Row | None) -> Row | None:
    try:
        text = tree.read(path).text
    except Unreadable:
        return None
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if known is not None and known[1] == digest:
        return known
    return ((), digest, read(path, text).dump())


def _stamp(tree: Tree, path: str) -> Stamp | None:
    if path in tree.replaced:
        return None if tree.replaced[path] is None else (0, 0, 0, 0)
    try:
        found = tree.locate(path).stat()
    except (OSError, ValueError, Unreadable):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _trusted(stamp: Stamp, began: float) -> Stamp:
    return () if max(stamp[1], stamp[2]) / 1e9 > began - RACY else stamp


def _pack(folder: Path, tree: Tree) -> Path:
    """Give the file of a tree's pack: what lowers files, and for which Python, is part of its name."""
    own = Path(reading.__file__).stat()
    parts = (sys.version, str(own.st_mtime_ns), str(own.st_size), str(tree.root))
    name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return folder / f"{name}.facts"


def load(pack: Path) -> dict[str, Row]:
    """Read a pack; empty where there is none that is whole."""
    try:
        if pack.stat().st_size > MAX_BYTES:
            return {}
        data = pack.read_bytes()
    except OSError:
        return {}
    start = len(MARK) + 32
    body = memoryview(data)[start:]
    if not data.startswith(MARK) or hashlib.sha256(body).digest() != data[len(MARK) : start]:
        return {}
    found: dict[str, Row] = marshal.loads(body)
    return found


def store(pack: Path, rows: Mapping[str, Any]) -> None:
    """Keep a pack; whatever goes wrong is nobody's business."""
    try:
        body = marshal.dumps(dict(rows))
        keep(pack, MARK + hashlib.sha256(body).digest() + body, KEPT)
    except (OSError, ValueError):
        return
