"""Where judging starts: every function that can reach an event, for each receiver that changes what it does."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.mesh.gate import Origin
from meshlint.mesh.term import Node as Term
from meshlint.mesh.term import Op
from meshlint.place import Span
from meshlint.protocol.facts import COLLECTIVE, Definition, calls, dotted
from meshlint.protocol.link import Linker, function_at
from meshlint.protocol.summary import Engine
from meshlint.protocol.values import ClassKey, Func, Instance, V
from meshlint.records import dataclass

MAX_CHILDREN = 512
"""Classes below that of a method among which those are looked for."""
MAX_RECEIVERS = 8
"""Classes of receiver for which one method is judged."""


@dataclass(frozen=True, slots=True)
class Root:
    """A definition to judge, with the class of its receiver for a method."""

    path: str
    index: int
    receiver: ClassKey | None = None


def roots_of(engine: Engine, path: str, definition: Definition) -> Iterator[Root]:
    """Give the roots of one definition."""
    if not engine.reaches(path, definition.index):
        return
    if definition.parent > 0 or definition.name == "<lambda>":
        return
    if not definition.index and not definition.seeds & COLLECTIVE:
        return
    if engine.linker.quietly(("thread", path, definition.index), lambda: in_a_thread(engine, path, definition)):
        return
    if definition.owner < 0:
        yield Root(path, definition.index)
        return
    owner = (path, definition.owner)
    if _of_a_pair(engine, owner, definition):
        return
    yield Root(path, definition.index, owner)
    own: set[str] = set()
    if definition.params:
        _members(definition.body, definition.params[0].name, own)
    if not own:
        return
    given = 0
    for child in engine.linker.subclasses(owner)[:MAX_CHILDREN]:
        found = engine.linker.method(child, definition.name)
        if found is None or found[:2] != (path, definition.index):
            continue
        if all(engine.linker.method(child, name) == engine.linker.method(owner, name) for name in sorted(own)):
            continue
        given += 1
        if given > MAX_RECEIVERS:
            return
        yield Root(path, definition.index, child)


_THREADS = frozenset(("Thread", "Timer", "Process", "submit", "run_in_executor", "start_new_thread"))


def in_a_thread(engine: Engine, path: str, definition: Definition) -> bool:
    """Say whether a function is only ever handed to a thread or process of its own."""
    found = False
    for caller_path, index in engine.callers(path, definition.index):
        caller = engine.linker.definition(caller_path, index)
        if not any(text.startswith("&") and text.endswith(definition.name) for text in caller.callees):
            return False
        for call in calls(caller.body):
            if dotted(call[1]).rpartition(".")[2] == definition.name:
                return False
            handed = [value for _, value in call[3]] + list(call[2])
            if any(dotted(value).rpartition(".")[2] == definition.name for value in handed):
                if dotted(call[1]).rpartition(".")[2] not in _THREADS:
                    return False
                found = True
    return found


def _of_a_pair(engine: Engine, owner: ClassKey, definition: Definition) -> bool:
    """Say whether a method is one end of a `with` whose other end has events too: only both together say something."""
    pair = ("__enter__", "__exit__")
    found = [engine.linker.method(owner, name) for name in pair]
    return definition.name in pair and all(one is not None and engine.reaches(one[0], one[1]) for one in found)


def _members(node: object, receiver: str, found: set[str]) -> None:
    """Collect the attributes of the receiver that lowered code names."""
    if not isinstance(node, tuple):
        return
    if len(node) == 3 and node[0] == "A" and node[1] == ("N", receiver):
        found.add(node[2])
        return
    for part in node:
        if isinstance(part, tuple):
            _members(part, receiver, found)


def root_term(engine: Engine, root: Root) -> Term:
    """Give the term of a root: its parameters are not known."""
    return engine.start(function_of(engine, root)).term


def function_of(engine: Engine, root: Root) -> Func:
    """Give the function of a root, bound to an object of its class."""
    receiver = None
    definition = engine.linker.definition(root.path, root.index)
    static = any(d == ("N", "staticmethod") for d in definition.decorators)
    if root.receiver is not None and not static:
        name = f"self of {engine.linker.class_name(root.receiver)}"
        values = engine.values
        receiver = V(values.atom(name, Origin.UNKNOWN), Instance(root.receiver), values.lit(False), text="self")
    return Func(root.path, root.index, receiver)


def definition_at(linker: Linker, span: Span) -> Definition | None:
    """Give the function that holds a place."""
    found = function_at(linker, span.path, span.line)
    if found is None:
        linker.note("file", span.path)
    else:  # as long as its lines are the same, it holds this one, wherever both stand
        linker.note("body", span.path, found.index)
    return found


def frame_of(op: Op) -> Span:
    """Give the place of an event in the function that is judged."""
    return op.site.frames()[0].span
