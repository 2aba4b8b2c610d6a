"""From a merged tree to the writes of a launch: dotted keys, interpolations followed, in the order of effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from meshlint.config.hydra.interpolation import Path, Resolver
from meshlint.config.hydra.items import MISSING, Item, Leaf, Listing, Section
from meshlint.config.launch import Write
from meshlint.config.value import State, Value, unknown

MAX_WRITES = 20_000
"""Writes of one launch; a config beyond is cut, and what it would write is unknown."""
MAX_DEPTH = 60
CUT = "the config has more keys than meshlint reads"


@dataclass(frozen=True, slots=True)
class Hole:
    """Keys that something unreadable may set: a pattern, why, and its place among the words of the command."""

    pattern: str
    value: Value
    order: int = 0


def writes(resolver: Resolver, holes: tuple[Hole, ...] = ()) -> tuple[Write, ...]:
    """Give every key of the tree once, duplicates of one place before it, each in its place among the overrides.

    A hole's write stands before the words that follow it and behind everything earlier; a hole of the files
    (order 0) stands first.
    """
    ordered: list[tuple[tuple[int, int], Write]] = [
        ((hole.order, 0), Write(hole.pattern, hole.value)) for hole in holes
    ]
    flat = _flat(resolver, resolver.root, (), (), 0)
    ordered += [((order, 1), write) for order, write in islice(flat, MAX_WRITES)]
    if next(flat, None) is not None:
        ordered.append(((0, 2), Write("*", unknown(CUT))))
    ordered.sort(key=lambda pair: pair[0])
    return tuple(write for _, write in ordered)


def _flat(
    resolver: Resolver, item: Item, path: Path, lies: Path, order: int, depth: int = 0
) -> Iterator[tuple[int, Write]]:
    """Walk an item that is shown at `path` and lies at `lies`; `order` is that of the reference it came through."""
    if depth > MAX_DEPTH:
        yield order, Write(".".join((*path, "*")), unknown(f"it is nested deeper than {MAX_DEPTH} levels"))
        return
    if isinstance(item, Leaf) and item.template is not None:
        found = resolver.resolve(item, lies)
        yield from _earlier(item, path, order or item.order)
        if isinstance(found.item, Leaf):
            yield _write(path, found.item.value, order or item.order, again=bool(item.earlier))
        else:
            yield from _flat(resolver, found.item, path, found.path, order or item.order, depth + 1)
    elif isinstance(item, Section):
        for name, below in item.entries.items():
            yield from _flat(resolver, below, (*path, name), (*lies, name), order, depth + 1)
    elif isinstance(item, Listing):
        yield from _listed(resolver, item, path, lies, order or item.order, depth)
    else:
        yield from _earlier(item, path, order or item.order)
        yield _write(path, item.value, order or item.order, again=bool(item.earlier))


def _listed(
    resolver: Resolver, item: Listing, path: Path, lies: Path, order: int, depth: int
) -> Iterator[tuple[int, Write]]:
    if not item.plain:
        for index, below in enumerate(item.items):
            yield from _flat(resolver, below, (*path, str(index)), (*lies, str(index)), order, depth + 1)
        return
    yield order, Write(".".join(path), _list_value(resolver, item, lies))


def _list_value(resolver: Resolver, item: Listing, lies: Path) -> Value:
    """Give a list of scalars, interpolations among them followed; unknown where one of them is."""
    parts = []
    for index, below in enumerate(item.items):
        found = resolver.resolve(below, (*lies, str(index))).item
        if isinstance(found, Section):
            return unknown("a reference puts a section into the list", *item.value.origins)
        if found.value.is_unknown:
            return unknown(found.value.reason, *item.value.origins)
        parts.append(found.value.data)
    return item.value.with_data(tuple(parts))


def _earlier(item: Leaf, path: Path, order: int) -> Iterator[tuple[int, Write]]:
    for index, value in enumerate(item.earlier):
        yield order, Write(".".join(path), value, same_place=index > 0)


def _write(path: Path, value: Value, order: int, *, again: bool = False) -> tuple[int, Write]:
    if value.data == MISSING and value.state is not State.UNKNOWN:
        value = unknown("it is `???`: somebody else must give it", *value.origins)
    return order, Write(".".join(path), value, same_place=again)
