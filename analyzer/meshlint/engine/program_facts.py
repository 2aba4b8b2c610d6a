"""Facts of the Python files in scope: from the cache where a file is as it was, else read anew by several processes.

A file that holds tests is no part of the program unless a file of the program imports it: nobody who trains calls it.
It is read where a rule asks for tests, or a person named it; else not even parsed.

The cache is one pack for a tree: for each path the stamp of the file, the hash of its text, its facts as bytes and
their head. A few files that changed since are kept beside it (`.changed`), so that a run after one edit does not write
the pack again. Only bytes and heads cross between processes; trees of syntax are dropped where they were made. A pack
that is broken, or from another version of meshlint or Python, counts as none.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import ModuleType

from meshlint.config.surface import Context
from meshlint.engine import split
from meshlint.engine.cache import RACY, keep, kept_bytes
from meshlint.engine.gather import Tick
from meshlint.engine.program_tests import Tests
from meshlint.protocol import facts as reading
from meshlint.protocol import forwarding, heads, lineage, packing, stages, summary
from meshlint.protocol.facts import FileFacts, read
from meshlint.protocol.heads import Head
from meshlint.protocol.pytests import is_test
from meshlint.records import dataclass
from meshlint.sources.tree import Tree, Unreadable

MARK = b"meshlint facts 5\n"
KEPT = 8
"""Packs kept; the oldest go first."""
MAX_BYTES = 512 * 1024 * 1024
MAX_CHANGED = 64
"""Files kept beside a pack; with more it is written anew."""

Stamp = tuple[int, ...]
Row = tuple[Stamp, str, "bytes | memoryview", heads.Row]
"""The stamp of a file (empty: do not trust it), the hash of its text, its facts, and their head.

The facts are empty where a file was looked at and not read.
"""

_NOT_PARSED = heads.row_of(heads.without_facts())
"""The head of a test that nothing of the program imports: it is not judged, so nobody asks whether it is Python."""


@dataclass(slots=True)
class Facts(Mapping[str, FileFacts]):
    """Facts by path, decoded when they are asked for first."""

    rows: dict[str, Row]
    _decoded: dict[str, FileFacts] = field(default_factory=dict)
    _heads: dict[str, Head] = field(default_factory=dict)

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

    def with_read(self, others: Facts) -> Facts:
        """Give these facts and those of other files that were read, not only looked at."""
        return Facts({**self.rows, **{path: row for path, row in others.rows.items() if row[2]}})

    def head(self, path: str) -> Head:
        """Give what is known of a file without its bodies, without decoding them."""
        known = self._heads.get(path)
        if known is None:
            known = self._heads[path] = Head(*self.rows[path][3])
        return known


@dataclass(frozen=True, slots=True)
class Pack:
    """What is kept of a tree: the rows of its pack, its checksum, and the rows of files that changed since."""

    rows: dict[str, Row] = field(default_factory=dict)
    mark: bytes = b""
    changed: dict[str, Row] = field(default_factory=dict)

    def known(self) -> dict[str, Row]:
        """Give every row that is known."""
        return {**self.rows, **self.changed}


def facts_of_files(paths: Sequence[str], context: Context, folder: Path | None, tick: Tick | None = None) -> Facts:
    """Give the facts of the files that can be read, in the order of the paths; `folder` holds the cache, if any."""
    reading = _Reading.begin(context, folder, tick)
    reading.read(paths, paths)
    reading.keep()
    return reading.facts(paths)


def facts_of_program(
    paths: Sequence[str], context: Context, folder: Path | None, tick: Tick | None, tests: bool
) -> tuple[Facts, Facts]:
    """Give the facts of the files of a program, and of the tests beside it: those read where `tests`, or named."""
    reading = _Reading.begin(context, folder, tick)
    own = [path for path in paths if not is_test(path)]
    apart = frozenset(path for path in paths if is_test(path))
    reading.read(paths, [path for path in paths if tests or path not in apart or path in context.named])
    known, more = Tests(apart, tuple(own)), own
    held: set[str] = set()
    while more:
        found = {
            test
            for path in more
            if (row := reading.rows.get(path))
            for test in known.imported(path, Head(*row[3]).tests)
        }
        more = sorted(found - held)
        held.update(more)
        reading.read(more, more)
    reading.keep()
    inside = {*own, *held}
    return reading.facts([p for p in paths if p in inside]), reading.facts([p for p in paths if p not in inside])


@dataclass(slots=True)
class _Reading:
    """Reading the files of a tree: from its pack, where they are as they were, else anew."""

    context: Context
    tick: Tick | None
    pack: Path | None
    kept: Pack
    began: float
    known: dict[str, Row]
    rows: dict[str, Row] = field(default_factory=dict)
    """What was asked for, by path."""
    fresh: set[str] = field(default_factory=set)

    @staticmethod
    def begin(context: Context, folder: Path | None, tick: Tick | None) -> _Reading:
        """Load the pack of the tree, if there is a folder of packs."""
        began = time.time()
        pack = None if folder is None else _pack(folder, context.tree)
        kept = Pack() if pack is None else load(pack)
        return _Reading(context, tick, pack, kept, began, kept.known())

    def read(self, paths: Sequence[str], whole: Sequence[str]) -> None:
        """Read those files that are `whole`, look at the others; what is known as it is stays."""
        tree, known, wanted = self.context.tree, self.known, frozenset(whole)
        stamps = {path: stamp for path in paths if (stamp := _stamp(tree, path)) is not None}
        fresh = [
            path
            for path, stamp in stamps.items()
            if path not in known
            or known[path][0] != stamp
            or path in tree.replaced
            or (path in wanted and not known[path][2])
        ]
        found = _read(fresh, wanted, known, self.context, self.tick)
        for path in fresh:
            if path in found:
                known[path] = (_trusted(stamps[path], self.began), *found[path][1:])
            else:
                known.pop(path, None)
        self.fresh.update(fresh)
        self.rows.update((path, known[path]) for path in stamps if path in known)

    def facts(self, paths: Sequence[str]) -> Facts:
        """Give the facts of those files that could be read."""
        return Facts({path: self.rows[path] for path in paths if path in self.rows})

    def keep(self) -> None:
        """Keep what was read, if anything of it is new."""
        kept = self.kept
        if self.pack is None or self.context.tree.replaced:
            return
        if self.fresh or self.rows.keys() != kept.known().keys():
            _keep(self.pack, kept, self.rows, {*kept.changed, *self.fresh})


def _keep(pack: Path, kept: Pack, rows: dict[str, Row], changed: set[str]) -> None:
    """Keep the rows of files that changed beside the pack where they are few, else write the pack anew."""
    if not kept.mark or rows.keys() != kept.rows.keys() or len(changed) > MAX_CHANGED:
        store(pack, rows)
    else:
        store_changed(pack, kept.mark, {path: rows[path] for path in sorted(changed) if path in rows})


def _read(
    fresh: list[str], whole: frozenset[str], known: Mapping[str, Row], context: Context, tick: Tick | None
) -> dict[str, Row]:
    """Read files that are not known as they are; a text that is the same after all keeps its facts."""

    def work(taken: split.Taken[str], here: bool) -> dict[str, Row]:
        tree = Tree(context.tree.root, context.tree.roots, context.tree.replaced)
        found: dict[str, Row] = {}
        for path in taken:
            if here and tick is not None:
                tick(taken.reached, taken.total, path)
            row = _row(tree, path, known.get(path), path in whole)
            if row is not None:
                found[path] = row
        return found

    found: dict[str, Row] = {}
    for part in split.share(fresh, work, split.workers(len(fresh))):
        found |= part
    return found


def _row(tree: Tree, path: str, known: Row | None, whole: bool) -> Row | None:
    try:
        text = tree.read(path).text
    except Unreadable:
        return None
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if known is not None and known[1] == digest and (known[2] or not whole):
        return (known[0], digest, bytes(known[2]), known[3])
    if not whole:
        return ((), digest, b"", _NOT_PARSED)
    facts = read(path, text)
    head = heads.head_of(facts, text)
    if known is not None and known[2]:
        head = lineage.following(FileFacts.load(known[2]), Head(*known[3]), known[1], facts, head)
    return ((), digest, facts.dump(), heads.row_of(head))


def _stamp(tree: Tree, path: str) -> Stamp | None:
    if path in tree.replaced:
        return None if tree.replaced[path] is None else (0, 0, 0, 0)
    try:
        found = tree.stat(path)
    except (OSError, ValueError, Unreadable):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _trusted(stamp: Stamp, began: float) -> Stamp:
    return () if max(stamp[1], stamp[2]) / 1e9 > began - RACY else stamp


def _pack(folder: Path, tree: Tree) -> Path:
    """Give the file of a tree's pack: what lowers files, and for which Python, is part of its name."""
    own = [_source(module).stat() for module in (reading, heads, lineage, stages, summary, packing, forwarding)]
    parts = (sys.version, *(f"{one.st_mtime_ns} {one.st_size}" for one in own), str(tree.root))
    name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return folder / f"{name}.facts"


def _source(module: ModuleType) -> Path:
    """Give the source of a module, which lies beside it where it is compiled: both read the same."""
    return Path(module.__file__ or "").with_name(f"{module.__name__.rpartition('.')[2]}.py")


def load(pack: Path) -> Pack:
    """Read a pack and what is kept beside it; empty where there is none that is whole."""
    body, mark = _whole(pack)
    if not mark:
        return Pack()
    size = int.from_bytes(body[:SIZE], "little")
    head: dict[str, tuple[Stamp, str, int, heads.Row]] = marshal.loads(body[SIZE : SIZE + size])
    rows: dict[str, Row] = {}
    start = SIZE + size
    for path, (stamp, digest, length, said) in head.items():
        rows[path] = (stamp, digest, body[start : start + length], said)
        start += length
    beside, checked = _whole(_beside(pack))
    if not checked or beside[: len(mark)] != mark:
        return Pack(rows, mark)
    return Pack(rows, mark, marshal.loads(beside[len(mark) :]))


SIZE = 8
"""Bytes that say how long the head of a pack is: all of it but the facts."""


def _whole(file: Path) -> tuple[memoryview, bytes]:
    """Give what a file holds and its checksum; nothing where it is not whole."""
    try:
        data = kept_bytes(file, MAX_BYTES)
    except OSError:
        data = b""
    start = len(MARK) + 32
    body, mark = memoryview(data)[start:], data[len(MARK) : start]
    if not data.startswith(MARK) or hashlib.sha256(body).digest() != mark:
        return memoryview(b""), b""
    return body, mark


def _beside(pack: Path) -> Path:
    return pack.with_suffix(".changed")


def store(pack: Path, rows: Mapping[str, Row]) -> None:
    """Keep a pack; whatever goes wrong is nobody's business."""
    head = marshal.dumps({path: (row[0], row[1], len(row[2]), row[3]) for path, row in rows.items()})
    _store(pack, b"".join((len(head).to_bytes(SIZE, "little"), head, *(row[2] for row in rows.values()))))


def store_changed(pack: Path, mark: bytes, rows: Mapping[str, Row]) -> None:
    """Keep the rows of files that changed since a pack was written, which `mark` is the checksum of."""
    plain = {path: (*row[:2], bytes(row[2]), row[3]) for path, row in rows.items()}
    _store(_beside(pack), mark + marshal.dumps(plain))


def _store(file: Path, body: bytes) -> None:
    try:
        keep(file, MARK + hashlib.sha256(body).digest() + body, KEPT)
    except (OSError, ValueError):
        return
