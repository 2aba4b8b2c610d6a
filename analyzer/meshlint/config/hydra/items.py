"""The merged config as a tree of values with provenance, and OmegaConf's rules for merging and updating it.

Trees are never changed in place: a merge shares every untouched part with its sources, so that hundreds of files
that inherit from one base cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from meshlint.config.value import Data, Kind, Origin, State, Value
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.yaml import MAX_WALK, Node

MISSING = "???"
"""OmegaConf's mark for a value that somebody else must give."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A scalar. `order` is 0 for files and counts the words of a command line from 1.

    `earlier` are values that the same mapping or command gave the key before, for duplicate keys.
    """

    value: Value
    order: int = 0
    earlier: tuple[Value, ...] = ()

    @property
    def template(self) -> str | None:
        """Give the text where it holds an interpolation."""
        data = self.value.data
        return data if isinstance(data, str) and "${" in data else None


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """A list; `value` carries its place, and its data where it holds plain scalars only (else None)."""

    items: tuple[Item, ...]
    value: Value
    order: int = 0
    earlier: tuple[Value, ...] = ()
    plain: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A mapping; `origin` is its own place."""

    entries: Mapping[str, Item] = field(default_factory=dict)
    origin: Origin | None = None
    order: int = 0
    settled: bool = True
    """No interpolation stands anywhere below."""


Item = Leaf | Listing | Section
EMPTY_SECTION = Section()


@dataclass(frozen=True, slots=True)
class Marking:
    """How the values of a file are marked: as written, or as the default that a framework's own file gives."""

    surface: str
    default_of: str = ""

    def value(self, data: Data, text: str, span: Span) -> Value:
        """Make the value of a scalar at its place."""
        if self.default_of:
            note = f"the default of {self.default_of}, {span.path}:{span.line}"
            return Value(State.UNSET, data, (Origin(Kind.DEFAULT, text, span, self.surface, note=note),))
        return Value(State.SET, data, (Origin(Kind.WRITTEN, text, span, self.surface),))


Repeated = tuple[str, Span, Span]
"""A key that one mapping holds twice, where not both hold scalars, and its two places."""


def built(node: Node, marking: Marking) -> tuple[Section, tuple[Repeated, ...]]:
    """Turn a YAML mapping into a section, and give the keys that stand twice in it.

    Anything else than a mapping gives an empty section. Bounded by `MAX_WALK` nodes.
    """
    builder = _Builder(marking)
    item = builder.item(node)
    return (item if isinstance(item, Section) else EMPTY_SECTION), tuple(builder.repeated)


class _Builder:
    """Turns nodes into items, each shared node once."""

    def __init__(self, marking: Marking) -> None:
        self.marking = marking
        self.known: dict[int, Item] = {}
        self.left = MAX_WALK
        self.repeated: list[Repeated] = []

    def item(self, node: Node) -> Item:
        known = self.known.get(id(node))
        if known is None:
            self.left -= 1
            known = self.known[id(node)] = self._built(node)
        return known

    def _built(self, node: Node) -> Item:
        if node.kind == "scalar":
            return Leaf(self.marking.value(_scalar(node), node.text, node.span))
        if node.kind == "sequence":
            items = tuple(self.item(n) for n in node.items)
            return listing(items, self.marking.value((), "[...]", node.span))
        own = {id(key) for key, _ in node.entries}
        mine: dict[str, Span] = {}
        entries: dict[str, Item] = {}
        for name, key, value in node.pairs():
            if self.left < 0:
                break
            item = self.item(value)
            if name in mine and not (isinstance(item, Leaf) and isinstance(entries[name], Leaf)):
                self.repeated.append((name, mine[name], key.span))
            entries[name] = _again(entries[name], item) if name in mine else item
            if id(key) in own:
                mine[name] = key.span
        return section(entries, self.marking.value(None, "", node.span).origins[0])


def _again(before: Item, item: Item) -> Item:
    """Keep the value that a duplicate key of one mapping had before (a key behind a merge `<<` is no duplicate)."""
    if isinstance(before, Leaf) and isinstance(item, Leaf):
        return replace(item, earlier=(*before.earlier, before.value))
    return item


def _scalar(node: Node) -> Data:
    """Give a scalar's data as OmegaConf's loader reads it: floats may lack the point (`1e-5`)."""
    data = node.data
    if isinstance(data, str) and not node.quoted and data[:1] in "0123456789+-." and ("e" in data or "E" in data):
        try:
            return float(data) if len(data) <= _LONGEST_NUMBER else data
        except ValueError:
            return data
    return data


_LONGEST_NUMBER = 40


def section(entries: Mapping[str, Item], origin: Origin | None = None, order: int = 0) -> Section:
    """Make a section, noting whether anything below needs interpolation."""
    return Section(entries, origin, order, all(map(settled, entries.values())))


def settled(item: Item) -> bool:
    """Say whether an item holds no interpolation and no `???`."""
    if isinstance(item, Section):
        return item.settled
    if isinstance(item, Listing):
        return item.plain and not any(isinstance(i, Leaf) and i.template for i in item.items)
    data = item.value.data
    return not (isinstance(data, str) and ("${" in data or data == MISSING))


def listing(items: tuple[Item, ...], value: Value, order: int = 0) -> Listing:
    """Make a list; its data is a tuple where all items are scalars or lists of them."""
    plain = all(isinstance(i, Leaf) or (isinstance(i, Listing) and i.plain) for i in items)
    data = tuple(i.value.data for i in items if isinstance(i, Leaf | Listing)) if plain else None
    return Listing(items, value.with_data(data), order, plain=plain)


Follow = Callable[["Section", Leaf, tuple[str, ...]], "Item"]
"""Gives what a reference at a path leads to, seen from the top of a config."""


def merge(base: Section, over: Section, follow: Follow) -> Section:
    """Merge as `OmegaConf.merge` does: sections join, everything else is replaced; `???` replaces nothing.

    A section over a reference joins what the reference leads to at that moment, with the keys before it merged.
    """
    return _Merge(follow, base).sections(base, over, (), None)


class _Merge:
    """One merge while it goes on; `top` is the config as merged so far."""

    def __init__(self, follow: Follow, top: Section) -> None:
        self.follow = follow
        self.top = top

    def sections(self, base: Section, over: Section, path: tuple[str, ...], within: dict[str, Item] | None) -> Section:
        """Merge two sections; `within` is the section around them as merged so far, where references look."""
        if not over.entries or base is over:
            return base
        entries = dict(base.entries)
        live = Section(entries, base.origin, settled=False)
        if within is None:
            self.top = live
        else:
            within[path[-1]] = live
        for name, item in over.entries.items():
            before = entries.get(name)
            entries[name] = item if before is None else self.items(before, item, (*path, name), entries)
        return section(entries, base.origin, over.order or base.order)

    def items(self, base: Item, over: Item, path: tuple[str, ...], within: dict[str, Item]) -> Item:
        if isinstance(over, Leaf) and over.value.data == MISSING:
            return self._reached(base, path)
        if isinstance(over, Section) and isinstance(base, Leaf) and base.template is not None:
            base = self.follow(self.top, base, path)
        if isinstance(base, Section) and isinstance(over, Section):
            return self.sections(base, over, path, within)
        return over

    def _reached(self, base: Item, path: tuple[str, ...]) -> Item:
        """Give what stays under a `???`: a reference to a section or list is copied from there (`_map_merge`)."""
        if not isinstance(base, Leaf) or base.template is None:
            return base
        target = self.follow(self.top, base, path)
        return base if isinstance(target, Leaf) else target


def embed(body: Section, package: str) -> Section:
    """Put a section under a dotted package; the empty package leaves it where it is."""
    for part in reversed([p for p in package.split(".") if p]):
        body = section({part: body})
    return body


def child(item: Item | None, name: str) -> Item | None:
    """Give what stands under one key or index; None where nothing does."""
    if isinstance(item, Section):
        return item.entries.get(name)
    if isinstance(item, Listing) and name.isdecimal() and len(name) < 6 and int(name) < len(item.items):
        return item.items[int(name)]
    return None


def update(root: Section, path: tuple[str, ...], change: Callable[[Item | None], Item | None]) -> Section:
    """Give the tree with the item at `path` changed; sections on the way are made, None removes."""
    name, rest = path[0], path[1:]
    entries = dict(root.entries)
    before = entries.get(name)
    if rest and isinstance(before, Listing):
        return root  # an index into a list: lists are replaced whole or not at all
    after = update(before if isinstance(before, Section) else EMPTY_SECTION, rest, change) if rest else change(before)
    if after is None:
        entries.pop(name, None)
    else:
        entries[name] = after
    if root.settled and (after is None or settled(after)):  # to ask all again for each of many changes takes long
        return Section(entries, root.origin, root.order, True)
    return section(entries, root.origin, root.order)
