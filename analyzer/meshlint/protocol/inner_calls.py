"""What functions inside of others give a function to go through.

Hooks and other functions that are defined inside of one are no place where judging starts, and mostly nobody calls
them in sight. Where one gives a set to a function that goes through it, that function is judged with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from meshlint.mesh.gate import UNRESOLVED
from meshlint.protocol.facts import Definition, Node, calls, dotted
from meshlint.protocol.frame import Frame
from meshlint.protocol.keeping import Exhausted
from meshlint.protocol.summary import Engine, owner_of
from meshlint.protocol.values import Instance, V, shuffled

MAX_CALLS = 8
"""Calls in functions inside of others of which it is asked what they give to one function."""

_SAME_ORDER = ("list", "tuple", "set", "frozenset", "iter")


def gone_through(definition: Definition) -> tuple[str, ...]:
    """Give the parameters that a function goes through in a loop of statements."""
    names = {param.name for param in definition.params if param.kind == "pos"}
    found: dict[str, None] = {}
    _loops(definition.body, names, found)
    return tuple(found)


def _loops(node: object, names: set[str], found: dict[str, None]) -> None:
    if not isinstance(node, tuple):
        return
    if len(node) == 7 and node[0] == "for":
        through = node[3]
        if through[0] == "K" and dotted(through[1]) in (*_SAME_ORDER, "enumerate") and through[2]:
            through = through[2][0]
        if through[0] == "N" and through[1] in names:
            found[through[1]] = None
    for part in node:
        if isinstance(part, tuple):
            _loops(part, names, found)


def given_sets(engine: Engine, path: str, definition: Definition) -> Iterator[tuple[dict[str, V], Node, str]]:
    """Give the sets that inner functions give to a function that goes through them, with the call and its file."""
    through = gone_through(definition)
    if not through:
        return
    for caller, inner, call in islice(_calls_of(engine, path, definition), MAX_CALLS):
        given = dict(_given(engine, caller, inner, definition, call, through))
        if given:
            yield given, call, caller


def _calls_of(engine: Engine, path: str, definition: Definition) -> Iterator[tuple[str, Definition, Node]]:
    """Give the calls of a function in functions that are defined inside of others."""
    for caller, index in engine.callers(path, definition.index):
        inner = engine.linker.definition(caller, index)
        if inner.parent <= 0 or inner.name == "<lambda>":
            continue
        for call in calls(inner.body):
            if dotted(call[1]).rpartition(".")[2] == definition.name:
                yield caller, inner, call


def _given(
    engine: Engine, caller: str, inner: Definition, definition: Definition, call: Node, through: tuple[str, ...]
) -> Iterator[tuple[str, V]]:
    names = [param.name for param in definition.params if param.kind == "pos"]
    if definition.owner >= 0:
        names = names[1:]
    arguments = [*zip(names, call[2], strict=False), *((name, value) for name, value in call[3] if name)]
    for name, node in arguments:
        if name not in through or not _is_plain(node):
            continue
        try:
            value = engine.evaluated(_around(engine, caller, inner), node)
        except (Exhausted, RecursionError):
            return
        if shuffled(value.data):
            yield name, value


def _is_plain(node: Node) -> bool:
    """Say whether an argument is a name, an attribute, or a list of what one holds: no call has to be followed."""
    if node[0] == "K":
        return dotted(node[1]) in _SAME_ORDER and len(node[2]) == 1 and not node[3] and _is_plain(node[2][0])
    while node[0] == "A":
        node = node[1]
    return bool(node[0] == "N")


def _around(engine: Engine, path: str, definition: Definition) -> Frame:
    """Make the frame of an inner function that is not walked, in those around it."""
    outer = None
    if definition.parent > 0:
        outer = _around(engine, path, engine.linker.definition(path, definition.parent))
    frame = Frame(path, definition, {}, parent=outer, lazy=True)
    owner = owner_of(engine.linker.files[path].definitions, definition)
    if outer is None and owner >= 0 and definition.params:
        key = (path, owner)
        whose = engine.values.atom(f"self of {engine.linker.class_name(key)}", UNRESOLVED)
        frame.env[definition.params[0].name] = V(whose, Instance(key), engine.domain.no, text="self")
    for param in definition.params[1 if outer is None and owner >= 0 else 0 :]:
        frame.env[param.name] = engine.parameter(path, definition, param.name, param.annotation)
    return frame
