"""Overrides merged into a config object: YAML files and dotlists."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.hydra.grammar import Action, Mapped, NotParsed, Parsed, parse_override
from meshlint.config.python.calls import Calls
from meshlint.config.python.machine import MAX_ITEMS
from meshlint.config.python.values import Leaf, Map, Record, Seq, Unknown, Val, sequence
from meshlint.config.value import Kind, Origin
from meshlint.sources.tree import Text, Unreadable
from meshlint.sources.yaml import Node, parse

Layer = tuple[str, Val]


def apply(machine: Calls, config: Record, layers: tuple[Layer, ...]) -> None:
    """Write merged keys into a config object, in order; objects on the way come into being."""
    for key, value in layers:
        _write(machine, config, key.split(".")[:12], value)


def _write(machine: Calls, config: Record, parts: list[str], value: Val) -> None:
    holder: Val = config
    for part in parts[:-1]:
        if isinstance(holder, Map):
            holder = holder.entries.get(part) or Unknown("it is not set")
            continue
        if not isinstance(holder, Record):
            return
        found = machine.record_attribute(holder, part)
        if not isinstance(found, Record | Map):
            found = Record("", open=holder.open)
            machine.write(holder, part, found)
        holder = found
    if parts[-1] == "*":
        machine.taint(holder, value.reason if isinstance(value, Unknown) else "it is overridden")
    elif isinstance(holder, Record):
        machine.write(holder, parts[-1], value)
    elif isinstance(holder, Map):
        machine.put(holder.entries, parts[-1], value)


def apply_words(machine: Calls, config: Record, words: Val | None) -> None:
    """Apply a dotlist."""
    apply(machine, config, tuple(from_words(machine, words)))


def apply_file(machine: Calls, config: Record, path: Val | None) -> None:
    """Apply a YAML file."""
    apply(machine, config, tuple(from_file(machine, path)))


def from_words(machine: Calls, words: Val | None) -> Iterator[Layer]:
    """Read `key=value` words."""
    if words is None or (isinstance(words, Leaf) and not words.data):
        return
    for word in words.items if isinstance(words, Seq) else (words,):
        if not isinstance(word, Leaf) or not isinstance(word.data, str):
            known = word.pieces[0].text if isinstance(word, Unknown) and word.pieces else ""
            key, equals, _ = (known or "").partition("=")
            reason = word.reason if isinstance(word, Unknown) else "an override is not known"
            yield (key.lstrip("+~") if equals else "*"), Unknown(reason, getattr(word, "origins", ()))
            continue
        yield from _of_override(word, word.data)


def _of_override(word: Leaf, text: str) -> Iterator[Layer]:
    """Read one word as Bridge does, by Hydra's own grammar.

    Source: v0.2.2 src/megatron/bridge/training/utils/omegaconf_utils.py:115, v0.4.2 :181, main 067f987df :181.
    """
    key, equals, _ = text.partition("=")
    try:
        override = parse_override(text)
    except NotParsed as error:
        if equals:
            yield key.lstrip("+~"), Unknown(f"Hydra cannot read `{text[:MAX_SHOWN]}`: {error}", word.origins)
        return
    origins = _after(word, len(key) + 1) if equals else word.origins
    if override.action is Action.DELETE:
        yield override.key, Leaf(None, word.origins)
    elif override.reason:
        yield override.key, Unknown(override.reason, origins)
    else:
        yield from _parsed(override.key, override.value, origins)


MAX_SHOWN = 80


def _parsed(key: str, value: Parsed, origins: tuple[Origin, ...]) -> Iterator[Layer]:
    """Give the keys that a value sets: a map is merged, key by key."""
    if isinstance(value, Mapped) and value.pairs:
        for name, below in value.pairs[:MAX_ITEMS]:
            yield from _parsed(f"{key}.{name}", below, origins)
    else:
        yield key, _val(value, origins)


def _val(value: Parsed, origins: tuple[Origin, ...]) -> Val:
    if isinstance(value, Mapped):
        return Map({name: _val(below, origins) for name, below in value.pairs}, origins)
    if isinstance(value, tuple):
        return sequence("list", tuple(_val(item, origins) for item in value[:MAX_ITEMS]), origins)
    if isinstance(value, str) and "${" in value:
        return Unknown("an interpolation is not followed here", origins)
    return Leaf(value, origins)


def _after(word: Leaf, start: int) -> tuple[Origin, ...]:
    """Give the places that made a word from an offset on: of `f"{key}={value}"`, those of the value."""
    found: list[Origin] = []
    offset = 0
    for piece in word.pieces:
        end = offset + len(piece.text or "")
        if end > start:
            found += [o for o in piece.origins if o not in found]
        offset = end
    return tuple(found) or word.origins


def from_file(machine: Calls, path: Val | None) -> Iterator[Layer]:
    """Read a YAML file's keys, dotted."""
    if path is None or (isinstance(path, Leaf) and not path.data):
        return
    if not isinstance(path, Leaf) or not isinstance(path.data, str):
        yield "*", Unknown("which YAML file is merged is not known", getattr(path, "origins", ()))
        return
    yield from read_file(machine, path)


def read_file(machine: Calls, path: Leaf) -> Iterator[Layer]:
    """Read the YAML file at a path that counts from the root, or from beside the script."""
    text = _text(machine, str(path.data))
    if text is None:
        yield "*", Unknown(f"the file `{path.data}` cannot be read", path.origins)
        return
    machine.touched[text.path] = None
    try:
        documents = parse(text)
    except Unreadable as error:
        yield "*", Unknown(f"{text.path}: {error.sentence}", path.origins)
        return
    if documents:
        yield from _dotted(documents[0], "", machine.caches.surface, 0)


def _text(machine: Calls, path: str) -> Text | None:
    tree = machine.program.tree
    for beside in ("", machine.frame.module.path):
        try:
            return tree.read(path, beside)
        except (Unreadable, OSError, ValueError):
            continue
    return None


def _dotted(node: Node, prefix: str, surface: str, level: int) -> Iterator[Layer]:
    if node.kind != "mapping" or level > 8:
        return
    for count, (key, _, value) in enumerate(node.pairs()):
        if count > MAX_ITEMS:
            return
        if value.kind == "mapping" and value.entries:
            yield from _dotted(value, f"{prefix}{key}.", surface, level + 1)
        else:
            origin = Origin(Kind.WRITTEN, value.text, value.span, surface)
            yield f"{prefix}{key}", _of_node(value, (origin,))


def _of_node(node: Node, origins: tuple[Origin, ...]) -> Val:
    if node.kind == "sequence":
        return sequence("list", tuple(_of_node(i, origins) for i in node.items[:MAX_ITEMS]), origins)
    if node.kind == "mapping":
        entries = {key: _of_node(value, origins) for key, _, value in node.pairs()}
        return Map(entries, origins)
    if "${" in node.text:
        return Unknown("an interpolation is not followed here", origins)
    return Leaf(node.data, origins)
