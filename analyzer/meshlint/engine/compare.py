"""Two launches compared: their effective settings, and what the difference comes to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, takewhile
from pathlib import PurePosixPath

from meshlint.card import AMISS, Card, Group, Item, Line, Pad, RoleCard
from meshlint.config.effective import EffectiveConfig
from meshlint.config.fields import FIELDS
from meshlint.config.framework import Role
from meshlint.config.launch import Launch
from meshlint.config.value import Data, Kind, State, Value
from meshlint.difference import Changed, Comparison, Difference, Meaning, RoleDifference
from meshlint.engine.card import Deck, Marking, cards_of, settled
from meshlint.engine.judge import Ground
from meshlint.engine.options import Options
from meshlint.engine.sides import side
from meshlint.finding import Finding
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.report.card import layers, members, pad_text, spans, step
from meshlint.sources.discover import Scope

MAX_SHOWN = 100
"""Characters shown of a value."""


@dataclass(frozen=True, slots=True)
class One:
    """One launch of one side: its card, its first variant, what it stands on, and whether its file was named.

    `inside` is the path of its file from the folder that holds all of its side.
    """

    card: Card
    launch: Launch
    ground: Ground
    named: bool = False
    inside: str = ""


def compare(
    before: str, after: str, options: Options, per_node: int | None = None, marked: Marking | None = None
) -> Comparison:
    """Compare two sides; raises UsageError for a side that is not there."""
    given = [side(text, options) for text in (before, after)]
    decks = [cards_of(one.scope, options, None, per_node, marked, one.modules) for one in given]
    sides = [_ones(deck, one.scope) for deck, one in zip(decks, given, strict=True)]
    pairs, left, right = _paired(*sides)
    return Comparison(
        before,
        after,
        tuple(_difference(one, other) for one, other in pairs),
        tuple(one.card.launch for one in left),
        tuple(one.card.launch for one in right),
        failures=tuple(dict.fromkeys(failure for deck in decks for failure in deck.report.failures)),
        notes=tuple(dict.fromkeys(note for deck in decks for note in deck.report.notes)),
        apart=_fresh(decks[1].apart, decks[0].apart),
    )


def _ones(deck: Deck, scope: Scope) -> list[One]:
    above = _above(scope.asked)
    return [
        One(
            card,
            variants[0],
            ground,
            variants[0].place.path in scope.named,
            variants[0].place.path.removeprefix(above),
        )
        for card, variants, ground in zip(deck.cards, deck.launches, deck.grounds, strict=True)
    ]


def _above(paths: Sequence[str]) -> str:
    """Give the folder that holds all paths, with a slash behind it; empty where there is none."""
    folders = [PurePosixPath(path).parts[:-1] for path in paths]
    shared = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))]
    return f"{PurePosixPath(*shared)}/" if shared else ""


Key = tuple[object, ...]


def _paired(left: list[One], right: list[One]) -> tuple[list[tuple[One, One]], list[One], list[One]]:
    """Pair launches: two lone ones, else those that bear one name, the nearest kind of name first."""
    if len(left) == len(right) == 1:
        return [(left[0], right[0])], [], []
    pairs: list[tuple[One, One]] = []
    for key in (_identity, _of_named, _inside, _of_file, _inner):
        if key is _inner and not (_of_one_file(left) and _of_one_file(right)):
            break  # `command 1` of one file has nothing to do with that of another among many
        others: dict[Key | None, list[One]] = {}
        for one in right:
            others.setdefault(key(one), []).append(one)
        mine, kept = Counter(map(key, left)), []
        for one in left:
            name = key(one)
            same = others.get(name, []) if name is not None else []
            if same and (key is not _of_file or len(same) == mine[name] == 1):
                pairs.append((one, same.pop(0)))
            else:
                kept.append(one)
        left, right = kept, [one for ones in others.values() for one in ones]
    return sorted(pairs, key=lambda pair: pair[0].card.launch.span), left, right


def _identity(one: One) -> Key | None:
    return (one.launch.framework, one.launch.identity)


def _of_named(one: One) -> Key | None:
    """Give the name inside the very file that a person named, which others may inherit."""
    return (one.launch.framework, _name(one)) if one.named else None


def _inside(one: One) -> Key | None:
    """Give the path of the file from its side's folder, and the name inside it."""
    return (one.launch.framework, one.inside, _name(one))


def _of_file(one: One) -> Key | None:
    """Give the name of the file, in whichever folder, and that inside it; it says nothing where several bear it."""
    return (one.launch.framework, PurePosixPath(one.launch.place.path).name, _name(one))


def _inner(one: One) -> Key | None:
    """Give the name inside the file alone: `command 1`, a function."""
    return (one.launch.framework, _name(one)) if _name(one) else None


def _of_one_file(ones: list[One]) -> bool:
    return len({one.launch.place.path for one in ones}) == 1


def _name(one: One) -> str:
    return one.launch.identity.partition("::")[2]


def _difference(one: One, other: One) -> Difference:
    appear, disappear = _findings(one.card, other.card)
    return Difference(
        one.card.launch,
        other.card.launch,
        (one.card.verdict, other.card.verdict),
        tuple(_of_launch(one, other)),
        tuple(_roles(one, other)),
        tuple(_others(one, other)),
        appear,
        disappear,
    )


def _findings(before: Card, after: Card) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Give the findings that come and that go; a rule that finds as much as before finds the same."""
    return _beyond(after, before), _beyond(before, after)


def _beyond(card: Card, other: Card) -> tuple[Finding, ...]:
    return _fresh(card.findings, other.findings)


def _fresh(findings: Iterable[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    known = Counter(finding.code for finding in others)
    fresh = []
    for finding in findings:
        known[finding.code] -= 1
        if known[finding.code] < 0:
            fresh.append(finding)
    return tuple(fresh)


def _of_launch(one: One, other: One) -> Iterator[Changed]:
    """Compare what is started, on which nodes, versions and variables."""
    names = (("framework", one.card.framework, other.card.framework), ("entry", one.card.entry, other.card.entry))
    yield from (Changed(name, before, after) for name, before, after in names if before != after)
    yield from _changed("nodes", one.launch.nodes, other.launch.nodes)
    yield from _changed("gpus_per_node", one.launch.gpus_per_node, other.launch.gpus_per_node)
    if not (_named(one) and _named(other)):  # else the ranks of each role say it
        yield from _changed("world_size", one.launch.world, other.launch.world)
    yield from _versions(one, other)
    variables = [_set(each.launch) for each in (one, other)]
    for name in sorted({*variables[0], *variables[1]}):
        yield from _changed(f"${name}", variables[0].get(name), variables[1].get(name))


def _versions(one: One, other: One) -> Iterator[Changed]:
    """Compare the releases of each library that are judged, with the pins that say so."""
    sides = [{version.library: version for version in each.card.versions} for each in (one, other)]
    for library in sorted({*sides[0], *sides[1]}):
        mine, yours = (side[library].releases if library in side else "not used" for side in sides)
        if mine != yours:
            yield Changed(library, mine, yours, _pinned(one, library), _pinned(other, library))


def _pinned(one: One, library: str) -> Span | None:
    found = one.ground.versions.get(library)
    return found.pin.value.span if found is not None and found.pin is not None else None


def _set(launch: Launch) -> dict[str, Value]:
    """Give the variables that a launch sets, as opposed to those of this process."""
    return {
        name: value
        for name, value in launch.environment.items()
        if not any(origin.kind is Kind.OPTION and origin.text == name for origin in value.origins)
    }


def _changed(name: str, before: Value | None, after: Value | None) -> Iterator[Changed]:
    if _same(before, after):
        return
    yield Changed(name, _text(before), _text(after), _span(before), _span(after))


def _same(before: Value | None, after: Value | None) -> bool:
    """Say whether two values are one: equal data, whoever writes it, or unknown on both sides."""
    if before is None or after is None:
        return before is after
    if before.is_unknown or after.is_unknown:
        return before.is_unknown and after.is_unknown
    return bool(before.data == after.data)


def _text(value: Value | None) -> str:
    if value is None:
        return "not set"
    if value.is_unknown:
        return f"? ({value.reason})"
    return shown(value.data)


def shown(data: Data) -> str:
    """Write data as a config does, cut to a length."""
    text = data if isinstance(data, str) else json.dumps(data, default=str, ensure_ascii=False)
    if len(text) > MAX_SHOWN and isinstance(data, (tuple, list)):
        text = _runs(data)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _runs(data: Sequence[Data]) -> str:
    """Write a long list by its runs, so that two that begin alike differ: `[0] + [1] * 93`."""
    texts = [json.dumps(one, default=str, ensure_ascii=False) for one in data]
    runs = ((item, sum(1 for _ in run)) for item, run in groupby(texts))
    return " + ".join(f"[{item}]" if times == 1 else f"[{item}] * {times}" for item, times in runs)


def _span(value: Value | None) -> Span | None:
    return None if value is None or value.state is State.UNSET else value.span


def _roles(one: One, other: One) -> Iterator[RoleDifference]:
    """Compare role by role; the first variant of each side stands for it."""
    mine, yours = _named(one), _named(other)
    if len(mine) == len(yours) == 1:
        yours = dict.fromkeys(mine, next(iter(yours.values())))
    for name in dict.fromkeys((*mine, *yours)):
        if name not in mine or name not in yours:
            yield RoleDifference(name, only="before" if name in mine else "after")
            continue
        fields = tuple(_fields(one, other, mine[name][0], yours[name][0]))
        told = tuple(meaning(mine[name][1], yours[name][1], {field.name for field in fields}))
        if fields or told:
            yield RoleDifference(name, fields, told)


def _named(one: One) -> dict[str, tuple[Role, RoleCard]]:
    roles = one.ground.framework.roles(one.launch)
    cards = one.card.variants[0].roles if one.card.variants else ()
    return {role.name: (role, card) for role, card in zip(roles, cards, strict=False)}


def _fields(one: One, other: One, role: Role, peer: Role) -> Iterator[Changed]:
    caches: tuple[dict[str, Value], dict[str, Value]] = ({}, {})
    for name in FIELDS:
        part = partial(_value, name)
        before = settled(one.launch, role, one.ground, part, caches[0])
        after = settled(other.launch, peer, other.ground, part, caches[1])
        if _agree(before, after) and _agree(after, before):
            continue
        yield Changed(name, _either(before), _either(after), _span(before[0].data), _span(after[0].data))


def _value(name: str, config: EffectiveConfig) -> Item:
    return Item(config.value(name))


def _agree(line: Line, other: Line) -> bool:
    """Say whether each value of a line is one of the other's, whichever releases they hold on."""
    return all(any(_alike(item, peer) for peer in other) for item in line)


def _alike(before: Item, after: Item) -> bool:
    return before.known == after.known and _same(before.data, after.data)


def _either(line: Line) -> str:
    """Write a value; one that hangs on open versions with each of its values."""
    return " or ".join(dict.fromkeys(_text(item.data) if item.known else f"? ({item.reason})" for item in line))


def _others(one: One, other: One) -> Iterator[Changed]:
    """Compare what no canonical field reads, in the framework's own words."""
    if one.launch.framework != other.launch.framework:
        return
    sides = [_own(each) for each in (one, other)]
    found = [
        change for key in {**sides[0], **sides[1]} for change in _changed(key, sides[0].get(key), sides[1].get(key))
    ]
    yield from sorted(found, key=lambda change: (not change.is_written, change.name))


def _own(one: One) -> dict[str, Value]:
    framework, roles = one.ground.framework, one.ground.framework.roles(one.launch)
    spelt = {
        key.replace("{role}", role.prefix).replace("{parent}", role.parent)
        for spelling in framework.spellings
        for key in spelling.keys
        for role in roles
    }
    return {w.key: w.value for w in one.launch.writes if not (w.key in spelt or w.key[:1] == "@" or "*" in w.key)}


def meaning(before: RoleCard, after: RoleCard, fields: set[str]) -> Iterator[Meaning]:
    """Say what differs on the launch card of a role."""
    for what, pair in (("ranks", (before.ranks, after.ranks)), ("rank order", (before.order, after.order))):
        yield from _plainly(what, *pair)
    for name in ("dp", "edp"):
        yield from _plainly(name, before.sizes[name], after.sizes[name])
    for rows in ((before.groups, after.groups), (before.expert_groups, after.expert_groups)):
        yield from _groups(*rows)
    yield from _told("layers", before.stages, after.stages, layers)
    yield from _steps(before.step, after.step)
    yield from _pads(before.pads, after.pads, "pad_multiple" in fields)


def _plainly(what: str, before: Line, after: Line) -> Iterator[Meaning]:
    yield from _told(what, before, after, lambda item: str(item.data))


def _told(what: str, before: Line, after: Line, text: object) -> Iterator[Meaning]:
    """Compare a line of the card as text; what is known on neither side has no meaning."""
    assert callable(text)
    told = [" or ".join(_item(item, text) for item in line) for line in (before, after)]
    if told[0] != told[1] and any(item.known for line in (before, after) for item in line):
        yield Meaning(what, *told)


def _item(item: Item, text: object) -> str:
    assert callable(text)
    if not item.known:
        return item.reason if AMISS in item.reason else f"? ({item.reason})"
    return "none" if item.data is None else str(text(replace(item, unless=())))


def _groups(before: Line, after: Line) -> Iterator[Meaning]:
    """Compare the groups of the first reading on each side, by name."""
    if not (before[0].known and after[0].known):
        yield from _told("groups", before, after, _all_groups)
        return
    mine: Mapping[str, Group] = {group.name: group for group in before[0].data or ()}
    yours: Mapping[str, Group] = {group.name: group for group in after[0].data or ()}
    for name in dict.fromkeys((*mine, *yours)):
        old, new = mine.get(name), yours.get(name)
        crossing = _crossing(old, new)
        if old is None or new is None or crossing or (old.size, old.first) != (new.size, new.first):
            yield Meaning(f"{name} groups", _group(old), _group(new), crossing)


def _all_groups(item: Item) -> str:
    return ", ".join(f"{group.name} {group.count} of {group.size}" for group in item.data or ()) or "none"


def _group(group: Group | None) -> str:
    return "none" if group is None else f"{group.count} of {group.size} ({members(group.first)})"


def _crossing(old: Group | None, new: Group | None) -> str:
    """Say what becomes of a group's nodes; nothing where it stays on one."""
    if new is None or new.nodes is None:
        return ""
    if old is None or old.nodes is None or old.nodes == new.nodes:
        return spans(new) if new.nodes > 1 and (old is None or old.nodes is None) else ""
    return f"now {spans(new)}" if new.nodes > 1 else "no longer crosses nodes"


def _steps(before: Line, after: Line) -> Iterator[Meaning]:
    """Compare the batch arithmetic number by number, where both sides have some."""
    if not all(len(line) == 1 and line[0].known and line[0].data is not None for line in (before, after)):
        yield from _told("batch", before, after, step)
        return
    old, new = before[0].data, after[0].data
    if old.by_tokens != new.by_tokens:
        yield from _told("batch", before, after, step)
        return
    rows = (
        ("samples a step", old.samples, new.samples),
        ("samples of a micro-batch", old.micro, new.micro),
        ("micro-batches a step", old.count, new.count),
        ("tokens of a micro-batch", old.tokens, new.tokens),
    )
    for what, was, now in rows:
        if was != now:
            yield Meaning(what, "?" if was is None else str(was), "?" if now is None else str(now))


def _pads(before: Line, after: Line, changed: bool) -> Iterator[Meaning]:
    """Compare what lengths are padded to, and say where the pad stays and what is wanted does not."""
    if not (before[0].known and after[0].known):
        yield from _told("pads", before, after, lambda item: "; ".join(map(pad_text, item.data)))
        return
    mine, yours = ({pad.what: pad for pad in line[0].data or ()} for line in (before, after))
    for what in dict.fromkeys((*mine, *yours)):
        old, new = mine.get(what), yours.get(what)
        if _pad(old) != _pad(new) or _fits(old) != _fits(new):
            yield Meaning(what, _pad(old), _pad(new), _stays(old, new, changed))


def _pad(pad: Pad | None) -> str:
    if pad is None:
        return "no multiple wanted"
    wanted = f"multiples of {pad.wanted} wanted ({pad.how})" if pad.wanted > 1 else "no multiple wanted"
    return wanted if pad.is_length else f"padded to multiples of {pad.given or 1}, {wanted}"


def _fits(pad: Pad | None) -> bool:
    return pad is None or pad.fits


def _stays(old: Pad | None, new: Pad | None, changed: bool) -> str:
    """Say whether the length, or the pad, suits what is wanted now, and that a pad which does not has stayed."""
    if new is None or new.wanted == 1:
        return ""
    if new.is_length:
        return f"{new.given} {'fits' if new.fits else 'does NOT FIT'}"
    if new.fits:
        return "fits"
    stays = f"the pad stays {new.given}, packing wants {new.wanted}" if not changed and new.by == "pad_multiple" else ""
    return f"{stays}: it does NOT FIT" if stays else "does NOT FIT"
