"""After a real hang: reads dumps of PyTorch's flight recorder (2.6 and later) and says where the ranks part.

The recorder names the call that never ended. Where ranks paired up wrongly before, that line is innocent: what counts
is the first call of a group at which its ranks stood at different lines, or at which one of them never came.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from meshlint.plain import clean

MAX_BYTES = 64 << 20
MAX_FILES = 4096
MAX_ENTRIES = 20_000
"""Calls of one rank that are read; the recorder keeps 2,000 unless it is told otherwise."""

MAX_FRAMES = 100
MAX_RUNS = 20
"""Runs of ranks that are named."""

Told = TypeVar("Told")
MAX_TEXT = 200
"""Letters of a name that are kept, and dimensions of a shape."""

ROOM = 2 << 30
"""Bytes that reading one dump may take: a few bytes of a pickle can ask for any amount."""

OWN_NAME = "trace_rank_"
"""What the recorder calls its files where nothing else is said: `nccl_trace_rank_0`."""
OWN_FRAMES = ("/torch/", "<string>")
"""Frames of torch itself, and of no file, say nothing about the program."""


class Unreadable(Exception):  # noqa: N818 - shown as one sentence
    """No dump, or none that can be read."""


@dataclass(frozen=True, slots=True)
class Place:
    """A frame: the function, the file and the line."""

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line} ({self.name})"


@dataclass(frozen=True, slots=True)
class Entry:
    """One call of one rank on a group; `number` counts the calls of the group from 1."""

    number: int
    op: str
    shape: str
    state: str
    frames: tuple[Place, ...]

    @property
    def what(self) -> str:
        """Name the call and what it moves."""
        return f"{self.op} {self.shape}".strip()

    @property
    def where(self) -> str:
        """Name the innermost place of the program."""
        return str(self.frames[0]) if self.frames else "no place recorded"


@dataclass(frozen=True, slots=True)
class GroupTrace:
    """What the ranks of one group did."""

    name: str
    ranks: tuple[int, ...]
    entries: Mapping[int, Mapping[int, Entry]]
    """By rank, then by number."""
    missing: tuple[int, ...] = ()
    """Ranks of the group that left no dump."""


@dataclass(frozen=True, slots=True)
class Dumps:
    """What the dumps of a folder say, which files were left out and why, and each rank's open call to a single peer."""

    groups: tuple[GroupTrace, ...]
    left_out: tuple[str, ...] = ()
    peers: tuple[tuple[int, Entry], ...] = ()


@dataclass(frozen=True, slots=True)
class Parting:
    """Where the ranks of a group part: the first call at which they differ, and the one that the recorder blames.

    `how`: `pairs` (other lines, equal calls), `clash` (other calls) or `absent` (some never came).
    """

    group: GroupTrace
    number: int
    how: str
    calls: tuple[tuple[int, Entry | None], ...]
    blamed: tuple[tuple[int, Entry], ...]

    def lines(self) -> Iterator[Place]:
        """Give every place of the program that took part, innermost first."""
        for _, entry in self.calls:
            if entry is not None:
                yield from entry.frames


class _Plain(pickle.Unpickler):
    """Reads plain data only: a dump may come from anywhere, and a pickle can run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Refuse everything that is not plain data."""
        raise Unreadable(f"it asks for {clean(f'{module}.{name}'[:MAX_TEXT])}, as no dump of the recorder does")


@dataclass(slots=True)
class _Traces:
    """What the dumps say, taken over one by one: places and names are kept once."""

    calls: dict[str, dict[int, dict[int, Entry]]] = field(default_factory=dict)
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    places: dict[Place, Place] = field(default_factory=dict)
    stacks: dict[tuple[Place, ...], tuple[Place, ...]] = field(default_factory=dict)
    same: dict[Entry, Entry] = field(default_factory=dict)
    peers: dict[int, Entry] = field(default_factory=dict)

    def take(self, rank: int, dump: Mapping[Any, Any]) -> None:
        """Take over the dump of one rank; what is not as the recorder writes it is left out."""
        groups = dump.get("pg_config")
        for identity, config in groups.items() if isinstance(groups, dict) else ():
            if isinstance(config, dict) and _text(identity):
                self.members.setdefault(_text(identity), _members(config.get("ranks")))
                self.names.setdefault(_text(identity), _text(config.get("desc")) or _text(identity))
        for item in dump["entries"][:MAX_ENTRIES]:
            entry = self.entry(item)
            if entry is not None and item.get("is_p2p") is True:
                if entry.state != "completed":
                    self.peers.setdefault(rank, entry)
            elif entry is not None:
                group = item.get("process_group")
                words = [_text(one) for one in group[:2]] if isinstance(group, (list, tuple)) else []
                key = words[0] if words else "0"
                self.names.setdefault(key, words[-1] if words else "")
                self.calls.setdefault(key, {}).setdefault(rank, {})[entry.number] = entry

    def entry(self, item: Any) -> Entry | None:
        """Read one call; None for what is none."""
        if not isinstance(item, dict):
            return None
        number, op = item.get("collective_seq_id"), _text(item.get("profiling_name")).rpartition(":")[2]
        if not isinstance(number, int) or not op:
            return None
        made = Entry(number, op, _shape(item), _text(item.get("state")), self.stack(item.get("frames")))
        return self.same.setdefault(made, made)

    def stack(self, frames: Any) -> tuple[Place, ...]:
        """Read the places of the program, innermost first."""
        made = []
        for frame in frames[:MAX_FRAMES] if isinstance(frames, (list, tuple)) else ():
            file = _text(frame.get("filename")) if isinstance(frame, dict) else ""
            if file.endswith(".py") and not any(own in file for own in OWN_FRAMES):
                line = frame.get("line")
                place = Place(_text(frame.get("name")), file, line if isinstance(line, int) else 0)
                made.append(self.places.setdefault(place, place))
        return self.stacks.setdefault(tuple(made), tuple(made))

    def groups(self, ranks: Collection[int]) -> Iterator[GroupTrace]:
        """Give what the ranks of each group did."""
        for key in sorted(self.calls):
            known = self.members.get(key) or tuple(sorted(self.calls[key]))
            there = tuple(rank for rank in known if rank in ranks)
            calls = {rank: self.calls[key].get(rank, {}) for rank in there}
            yield GroupTrace(self.names[key], there, calls, tuple(rank for rank in known if rank not in ranks))


def read(folder: Path) -> tuple[GroupTrace, ...]:
    """Read what the dumps of a folder say of its groups. Raises Unreadable."""
    return dumps_in(folder).groups


def dumps_in(folder: Path) -> Dumps:
    """Read the dumps of a folder, one a rank, by the number at the end of their names. Raises Unreadable.

    Where some bear the recorder's own name, as in /tmp, other files that end in a number are none of them. One that
    cannot be read, as of a rank that was killed while it wrote, is left out where others can.
    """
    traces, left_out = _Traces(), {}
    files = _files(folder)
    for rank, file in files.items():
        try:
            with _bounded():
                traces.take(rank, _load(file))
        except Unreadable as error:
            left_out[rank] = error
    if not files:
        raise Unreadable(f"`{folder}` holds no dumps of the flight recorder (files whose names end in a rank)")
    if len(left_out) == len(files):
        raise next(iter(left_out.values()))
    ranks = [rank for rank in files if rank not in left_out]
    said = tuple(str(error) for error in left_out.values())
    return Dumps(tuple(traces.groups(set(ranks))), said, tuple(sorted(traces.peers.items())))


def _files(folder: Path) -> dict[int, Path]:
    """Give the file of each rank. Raises Unreadable where two are of one rank: they are of two jobs, or two hangs."""
    if folder.is_file():
        raise Unreadable(f"`{folder}` is a file: triage compares ranks, and wants the folder with the dumps of all")
    if not folder.is_dir():
        raise Unreadable(f"there is no folder `{folder}`")
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise Unreadable(f"`{folder}` cannot be read: {error.strerror}") from None
    files: dict[int, Path] = {}
    for file in ([file for file in found if OWN_NAME in file.name] or found)[:MAX_FILES]:
        rank = _rank(file)
        if rank is None or not file.is_file():
            continue
        if rank in files:
            both = f"`{files[rank].name}` and `{file.name}`"
            raise Unreadable(f"{both} are both of rank {rank}: give each hang a folder of its own")
        files[rank] = file
    return files


def _rank(file: Path) -> int | None:
    stem = file.name.removesuffix(".json").removesuffix(".pickle").removesuffix(".pkl")
    digits = stem[len(stem.rstrip("0123456789")) :]
    return int(digits) if digits and len(digits) < 8 and digits.isascii() else None


def _load(file: Path) -> Mapping[Any, Any]:
    """Read one dump as plain data: dicts with a list of entries. Raises Unreadable."""
    data = b""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise Unreadable(f"it is larger than {MAX_BYTES >> 20} MiB")
        found = json.loads(data) if data[:1] == b"{" else _Plain(BytesIO(data)).load()
    except Unreadable as error:
        raise Unreadable(f"`{file.name}` is not read: {error}") from None
    except Exception as error:
        why = "it is empty" if isinstance(error, EOFError) and not data else type(error).__name__
        raise Unreadable(f"`{file.name}` is no dump of the flight recorder, or not a whole one ({why})") from None
    if not isinstance(found, dict) or not isinstance(found.get("entries"), list):
        raise Unreadable(f"`{file.name}` is no dump of the flight recorder (no entries)")
    return found


@contextmanager
def _bounded() -> Iterator[None]:
    """Let this process take no more than ROOM beside what it has, where the system can hold it to that."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        has = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        most = has + ROOM if soft == resource.RLIM_INFINITY else min(soft, has + ROOM)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _text(value: Any) -> str:
    """Give a short text or number of a dump, safe to show; "" for anything else, which may be endless when written."""
    if isinstance(value, str):
        return clean(value[:MAX_TEXT])
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""


def _shape(item: Mapping[Any, Any]) -> str:
    sizes, types = item.get("input_sizes"), item.get("input_dtypes")
    if not isinstance(sizes, (list, tuple)) or not isinstance(types, (list, tuple)):
        return ""
    parts = []
    for size, kind in zip(sizes[:MAX_TEXT], types[:MAX_TEXT], strict=False):
        numbers = [_text(one) for one in size[:MAX_TEXT]] if isinstance(size, (list, tuple)) else []
        parts.append(f"{_text(kind)}[{', '.join(numbers)}]")
    return ", ".join(parts)


def _members(text: Any) -> tuple[int, ...]:
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return ()
    return tuple(rank for rank in found if isinstance(rank, int)) if isinstance(found, list) else ()


def partings(groups: Sequence[GroupTrace]) -> tuple[Parting, ...]:
    """Give where each group parts, those that differ first, then those at which somebody is missing."""
    found = [parting for group in groups if (parting := _parting(group)) is not None]
    order = {"pairs": 0, "clash": 0, "absent": 1}
    return tuple(sorted(found, key=lambda parting: (order[parting.how], parting.group.name, parting.number)))


def _parting(group: GroupTrace) -> Parting | None:
    numbers = sorted({number for entries in group.entries.values() for number in entries})
    for number in numbers:
        calls = tuple((rank, group.entries[rank].get(number)) for rank in group.ranks)
        how = _how(group, calls, number)
        if how:
            return Parting(group, number, how, calls, tuple(_blamed(group)))
    return None


def _how(group: GroupTrace, calls: Sequence[tuple[int, Entry | None]], number: int) -> str:
    there = [entry for _, entry in calls if entry is not None]
    late = [rank for rank, entry in calls if entry is None and number > max(group.entries[rank], default=0)]
    if len({entry.what for entry in there}) > 1:
        return "clash"
    if len({entry.frames[:1] for entry in there}) > 1:
        return "pairs"
    return "absent" if late and there else ""


def _blamed(group: GroupTrace) -> Iterator[tuple[int, Entry]]:
    """Give the first call of each rank that never ended, which is what the recorder points at."""
    for rank in group.ranks:
        open_calls = [entry for _, entry in sorted(group.entries[rank].items()) if entry.state != "completed"]
        if open_calls:
            yield rank, open_calls[0]


def told(parting: Parting, peers: Sequence[tuple[int, Entry]] = ()) -> Iterator[str]:
    """Say where a group parts; `peers` are open calls to a single peer, in which who never came may be."""
    group, at = parting.group, dict(peers)
    yield f"{group.name}, {_ranks(group.ranks)}: they part at call {parting.number}"
    calls = ((rank, _absent(at.get(rank)) if e is None else f"{e.what} at {e.where}") for rank, e in parting.calls)
    for text, ranks in _alike(calls):
        yield f"  {_ranks(ranks)}: {text}"
    yield from _missing(group)
    if parting.how == "pairs":
        yield "  equal calls of different lines: they paired silently, and what came of them is wrong from here on"
    if parting.how == "clash":
        yield "  the calls differ: what becomes of them is up to the backend"
    blamed = ((rank, e) for rank, e in parting.blamed if e.number != parting.number)
    for entry, ranks in _alike(blamed):
        what = f"call {entry.number} of {_ranks(ranks)}, {entry.what} at {entry.where}"
        yield f"  the recorder blames {what}: innocent"


def _absent(peer: Entry | None) -> str:
    return "never came" + (f"; it has not got past {peer.what} at {peer.where}" if peer is not None else "")


def together(dumps: Dumps) -> Iterator[str]:
    """Say what the dumps show where no group parts: a call that all came to and that never ended, ranks without one."""
    for group in dumps.groups:
        open_calls = tuple(_alike(_blamed(group)))
        for entry, ranks in open_calls[:3]:
            yield f"{group.name}, call {entry.number}: {_ranks(ranks)} came to {entry.what} at {entry.where}"
        if open_calls:
            yield "  it never ended: this is the network, a GPU, or a rank without a dump, not the order of the calls"
        if open_calls or group.missing:
            yield from _missing(group)
    if dumps.peers:
        yield "calls from one rank to another never ended, which are not compared here:"
        texts = ((rank, f"{entry.what} at {entry.where}") for rank, entry in dumps.peers)
        yield from (f"  {_ranks(ranks)}: {text}" for text, ranks in _alike(texts))


def _missing(group: GroupTrace) -> Iterator[str]:
    if group.missing:
        yield f"  {_ranks(group.missing)}: no dump that can be read, so what was called there is not known"


def _alike(items: Iterable[tuple[int, Told]]) -> Iterator[tuple[Told, list[int]]]:
    """Give each thing that is said of ranks once, with its ranks, by the first of them."""
    found: dict[Told, list[int]] = {}
    for rank, item in items:
        found.setdefault(item, []).append(rank)
    yield from found.items()


def _ranks(ranks: Sequence[int]) -> str:
    """Write ranks: `rank 3`, `ranks 0, 1`, `ranks 0-76, 78-511`."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    more = [f"and {len(parts) - MAX_RUNS} more runs of ranks"] if len(parts) > MAX_RUNS else []
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(parts[:MAX_RUNS] + more)}"
