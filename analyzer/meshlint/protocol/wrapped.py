"""Attributes that hold a model which a class wraps: calling one, or a method of it, is an event of all of its ranks."""

from __future__ import annotations

from meshlint.models.wrappers import CLASSES, FIRSTS, IN_PLACE, Wrapper
from meshlint.protocol.facts import Definition, Node, calls, dotted
from meshlint.protocol.link import Linker

MAX_STORES = 6
"""Stores of one attribute that are looked at."""


def wrapper_of(linker: Linker, key: tuple[str, int], name: str) -> str:
    """Give the text by which models know what an attribute of a class holds; "" where nothing wraps it."""
    for path, index, value in linker.stores(key, name)[:MAX_STORES]:
        made = _made(linker, path, value)
        if made:
            return made
        definition = linker.definition(path, index)
        for wrapper in IN_PLACE:
            if not any(text.endswith(wrapper.name) for text in definition.callees):
                continue
            linker.note("body", path, index)
            if _shards(wrapper, definition, value, name):
                return wrapper.held
    return ""


def _made(linker: Linker, path: str, value: Node) -> str:
    """Give the wrapper that makes a value: a library's class, or the first that an engine's maker gives."""
    if value[0] == "S" and value[1][0] == "K" and value[2] == ("C", 0):
        maker = FIRSTS.get(dotted(value[1][1]))
        return "" if maker is None else maker.held
    if value[0] != "K":
        return ""
    wrapper = CLASSES.get(dotted(value[1]).rpartition(".")[2])
    if wrapper is None:
        return ""
    target = linker.chain(path, value[1])
    return "" if target is not None and target.kind == "class" else wrapper.held


def _shards(wrapper: Wrapper, definition: Definition, value: Node, name: str) -> bool:
    """Say whether a function shards what it stores, by its own name or as the attribute."""
    receiver = definition.params[0].name if definition.params else "self"
    held = (value, ("A", ("N", receiver), name))
    return any(
        dotted(call[1]).endswith(wrapper.name) and call[2] and call[2][0] in held for call in calls(definition.body)
    )
