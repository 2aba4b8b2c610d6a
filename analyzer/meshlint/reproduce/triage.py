"""After a real hang: reads dumps of PyTorch's flight recorder (2.6 and later) and says where the ranks part.

The recorder names the call that never ended. Where ranks paired up wrongly before, that line is innocent: what counts
is the first call of a group at which its ranks stood at different lines, or at which one of them never came.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

MAX_BYTES = 64 << 20
MAX_FILES = 4096
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
        raise pickle.UnpicklingError(f"{module}.{name} in a dump")


def read(folder: Path) -> tuple[GroupTrace, ...]:
    """Read the dumps of a folder, one a rank, by the number at the end of their names. Raises Unreadable."""
    if not folder.is_dir():
        raise Unreadable(f"there is no folder `{folder}`")
    dumps: dict[int, Mapping[str, Any]] = {}
    for file in sorted(folder.iterdir())[:MAX_FILES]:
        rank = _rank(file)
        if rank is not None and file.is_file():
            dumps[rank] = _load(file)
    if not dumps:
        raise Unreadable(f"`{folder}` holds no dumps of the flight recorder (files whose names end in a rank)")
    return tuple(_groups(dumps))


def _rank(file: Path) -> int | None:
    stem = file.name.removesuffix(".json").removesuffix(".pickle").removesuffix(".pkl")
    digits = stem[len(stem.rstrip("0123456789")) :]
    return int(digits) if digits and len(digits) < 8 and digits.isascii() else None


def _load(file: Path) -> Mapping[str, Any]:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise Unreadable(f"`{file.name}` is larger than {MAX_BYTES >> 20} MiB")
        data = file.read_bytes()
        found = json.loads(data) if data[:1] == b"{" else _Plain(BytesIO(data)).load()
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"`{file.name}` is no dump of the flight recorder ({type(error).__name__})") from None
    if not isinstance(found, Mapping) or not isinstance(found.get("entries"), Sequence):
        raise Unreadable(f"`{file.name}` is no dump of the flight recorder (no entries)")
    return found


def _groups(dumps: Mapping[int, Mapping[str, Any]]) -> Iterator[GroupTrace]:
    traces: dict[str, dict[int, dict[int, Entry]]] = {}
    members: dict[str, tuple[int, ...]] = {}
    names: dict[str, str] = {}
    for rank, dump in sorted(dumps.items()):
        for identity, config in sorted(dict(dump.get("pg_config") or {}).items()):
            if isinstance(config, Mapping):
                members.setdefault(str(identity), _members(config.get("ranks")))
                names.setdefault(str(identity), str(config.get("desc") or identity))
        for item in dump["entries"]:
            entry = _entry(item)
            if entry is not None:
                group = item.get("process_group") or ("0", "")
                key = str(group[0])
                names.setdefault(key, str(group[1] if len(group) > 1 else key))
                traces.setdefault(key, {}).setdefault(rank, {})[entry.number] = entry
    for key in sorted(traces):
        known = members.get(key) or tuple(sorted(traces[key]))
        there = tuple(rank for rank in known if rank in dumps)
        yield GroupTrace(names[key], there, {rank: traces[key].get(rank, {}) for rank in there})


def _members(text: Any) -> tuple[int, ...]:
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return ()
    return tuple(rank for rank in found if isinstance(rank, int)) if isinstance(found, list) else ()


def _entry(item: Any) -> Entry | None:
    if not isinstance(item, Mapping) or item.get("is_p2p"):
        return None
    number, op = item.get("collective_seq_id"), str(item.get("profiling_name", "")).rpartition(":")[2]
    if not isinstance(number, int) or not op:
        return None
    sizes, types = item.get("input_sizes") or [], item.get("input_dtypes") or []
    shape = ", ".join(f"{kind}{list(size)}" for size, kind in zip(sizes, types, strict=False))
    return Entry(number, op, shape, str(item.get("state", "")), tuple(_frames(item.get("frames"))))


def _frames(frames: Any) -> Iterator[Place]:
    for frame in frames if isinstance(frames, Sequence) else ():
        file = str(frame.get("filename", "")) if isinstance(frame, Mapping) else ""
        if file.endswith(".py") and not any(own in file for own in OWN_FRAMES):
            line = frame.get("line")
            yield Place(str(frame.get("name", "")), file, line if isinstance(line, int) else 0)


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


def told(parting: Parting) -> Iterator[str]:
    """Say where a group parts."""
    group = parting.group
    yield f"{group.name}, ranks {', '.join(map(str, group.ranks))}: they part at call {parting.number}"
    for rank, entry in parting.calls:
        yield f"  rank {rank}: " + ("never came" if entry is None else f"{entry.what} at {entry.where}")
    if parting.how == "pairs":
        yield "  equal calls of different lines: they paired silently, and what came of them is wrong from here on"
    if parting.how == "clash":
        yield "  the calls differ: what becomes of them is up to the backend"
    for rank, entry in parting.blamed:
        if entry.number != parting.number:
            yield f"  the recorder blames call {entry.number} of rank {rank}, {entry.what} at {entry.where}: innocent"
