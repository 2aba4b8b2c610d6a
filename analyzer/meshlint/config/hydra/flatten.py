"""From a merged tree to the writes of a launch: dotted keys, interpolations followed, in the order of effect."""

from __future__ import annotations

from dataclasses import field
from typing import Any, cast

from meshlint.config.hydra.interpolation import Path, Resolver
from meshlint.config.hydra.items import MISSING, Item, Leaf, Listing, Section
from meshlint.config.launch import Write
from meshlint.config.surface import Context
from meshlint.config.value import State, Value, unknown
from meshlint.records import dataclass

MAX_WRITES = 20_000
"""Writes of one launch; a config beyond is cut, and what it would write is unknown."""
MAX_STEPS = 100_000
"""Items walked for one launch; references that fan out reach it before they reach the number of writes."""
MAX_DEPTH = 60
CUT = "the config has more keys than meshlint reads"

Ordered = tuple[int, Write]
Blocks = dict[tuple[int, str], tuple[Section, list[Ordered]]]
"""What sections without interpolations gave under a prefix before; files that inherit share them."""


def blocks_of(context: Context) -> Blocks:
    """Give the run's memory of blocks."""
    blocks: Any = context.shared.setdefault("hydra blocks", {})
    return cast(Blocks, blocks)


@dataclass(frozen=True, slots=True)
class Hole:
    """Keys that something unreadable may set: a pattern, why, and its place among the words of the command."""

    pattern: str
    value: Value
    order: int = 0


def writes(resolver: Resolver, holes: tuple[Hole, ...] = (), blocks: Blocks | None = None) -> tuple[Write, ...]:
    """Give every key of the tree once, duplicates of one place before it, each in its place among the overrides.

    A hole's write stands before the words that follow it and behind everything earlier; a hole of the files
    (order 0) stands first.
    """
    flat = _Flat(resolver, blocks if blocks is not None else {})
    flat.section(resolver.root, "", (), 0, 0)
    ordered = [((hole.order, 0), Write(hole.pattern, hole.value)) for hole in holes]
    ordered += [((order, 1), write) for order, write in flat.found[:MAX_WRITES]]
    if len(flat.found) > MAX_WRITES or flat.left <= 0:
        ordered.append(((0, 2), Write("*", unknown(CUT))))
    ordered.sort(key=_place)
    return tuple([write for _, write in ordered])


def _place(pair: tuple[tuple[int, int], Write]) -> tuple[int, int]:
    return pair[0]


@dataclass(slots=True)
class _Flat:
    """Walks a tree. An item is shown under a dotted key and lies at a path, which differ behind a reference."""

    resolver: Resolver
    blocks: Blocks
    found: list[Ordered] = field(default_factory=list)
    followed: list[Path] = field(default_factory=list)
    """Where the references lead that are being followed."""
    left: int = MAX_STEPS

    def section(self, item: Section, key: str, lies: Path, order: int, depth: int) -> None:
        """Walk a section; `order` is that of the reference it came through, 0 where it came through none."""
        if not item.settled or order:
            self._entries(item, key, lies, order, depth)
            return
        block = self.blocks.get((id(item), key))
        if block is None:
            start = len(self.found)
            self._entries(item, key, lies, order, depth)
            self.blocks[(id(item), key)] = (item, self.found[start:])
        else:
            self.found += block[1]

    def _entries(self, item: Section, key: str, lies: Path, order: int, depth: int) -> None:
        prefix = f"{key}." if key else ""
        for name, below in item.entries.items():
            self.item(below, prefix + name, (*lies, name), order, depth + 1)

    def item(self, item: Item, key: str, lies: Path, order: int, depth: int) -> None:
        self.left -= 1
        if self.left <= 0 or len(self.found) > MAX_WRITES:
            return
        if depth > MAX_DEPTH:
            self.found.append((order, Write(f"{key}*", unknown(f"it is nested deeper than {MAX_DEPTH} levels"))))
        elif isinstance(item, Leaf):
            self._leaf(item, key, lies, order or item.order, depth)
        elif isinstance(item, Section):
            self.section(item, key, lies, order, depth)
        else:
            self._listing(item, key, lies, order or item.order, depth)

    def _leaf(self, item: Leaf, key: str, lies: Path, order: int, depth: int) -> None:
        if item.earlier:
            self.found += [(order, Write(key, value, index > 0)) for index, value in enumerate(item.earlier)]
        if item.template is None:
            self.found.append((order, Write(key, _given(item.value), bool(item.earlier))))
            return
        found = self.resolver.resolve(item, lies)
        if isinstance(found.item, Leaf):
            self.found.append((order, Write(key, found.item.value, bool(item.earlier))))
        elif found.path in self.followed:
            self.found.append((order, Write(f"{key}*", unknown("its interpolation leads back to itself"))))
        else:
            self.followed.append(found.path)
            self.item(found.item, key, found.path, order, depth + 1)
            self.followed.pop()

    def _listing(self, item: Listing, key: str, lies: Path, order: int, depth: int) -> None:
        if item.plain:
            self.found.append((order, Write(key, self._list_value(item, lies))))
            return
        for index, below in enumerate(item.items):
            self.item(below, f"{key}.{index}", (*lies, str(index)), order, depth + 1)

    def _list_value(self, item: Listing, lies: Path) -> Value:
        """Give a list of scalars, interpolations among them followed; unknown where one of them is."""
        parts = []
        for index, below in enumerate(item.items):
            found = self.resolver.resolve(below, (*lies, str(index))).item
            if isinstance(found, Section):
                return unknown("a reference puts a section into the list", *item.value.origins)
            if found.value.is_unknown:
                return unknown(found.value.reason, *item.value.origins)
            parts.append(found.value.data)
        return item.value.with_data(tuple(parts))


def _given(value: Value) -> Value:
    if value.data == MISSING and value.state is not State.UNKNOWN:
        return unknown("it is `???`: somebody else must give it", *value.origins)
    return value
