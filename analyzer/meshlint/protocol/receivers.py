"""Of which classes the receiver of a method may be, as far as what is written says it, without walking."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.protocol.annotations import class_of
from meshlint.protocol.facts import Definition, Node, dotted
from meshlint.protocol.link import Linker, Target

Key = tuple[str, int]


def methods_of(linker: Linker, path: str, definition: Definition, owner: int, text: str) -> list[tuple[str, int]]:
    """Give the methods that `receiver.method` may be: of what is made, annotated or kept in an attribute here."""
    parts = text.split(".")
    found: dict[tuple[str, int], None] = {}
    for key in _classes(linker, path, definition, owner, parts[:-1]):
        method = linker.method(key, parts[-1])
        if method is not None:
            found[method[:2]] = None
    return list(found)


def _classes(linker: Linker, path: str, definition: Definition, owner: int, parts: list[str]) -> Iterator[Key]:
    if len(parts) == 2 and parts[0] == "self" and owner >= 0:
        yield from _kept(linker, (path, owner), parts[1])
    if len(parts) != 1:
        return
    [name] = parts
    if name.endswith("()"):
        target = linker.name(path, name[:-2])
        yield from _named(target)
        if target is not None and target.kind == "def":
            yield from _returned(linker, target.path, target.index)
        return
    holder: Definition | None = definition
    while holder is not None and (name not in holder.locals or not holder.index):
        holder = linker.definition(path, holder.parent) if holder.parent > 0 else None
    if holder is not None:
        yield from _local(linker, path, holder, owner, name)
        return
    target = linker.name(path, name)
    if target is not None and target.kind == "var":
        for known, value in linker.files[target.path].assigns:
            if known == target.name.rpartition(".")[2]:
                yield from _made(linker, target.path, value)


def _local(linker: Linker, path: str, definition: Definition, owner: int, name: str) -> Iterator[Key]:
    """Give the class of a parameter, or those of all objects that a function makes or is given."""
    param = next((param for param in definition.params if param.name == name), None)
    if param is not None:
        if param.annotation is not None:
            yield from _named(class_of(linker, path, param.annotation))
        return
    key = (path, definition.index, owner)
    if key not in linker.objects:
        linker.objects[key] = tuple(dict.fromkeys(_objects(linker, path, definition, owner)))
    yield from linker.objects[key]


def _objects(linker: Linker, path: str, definition: Definition, owner: int) -> Iterator[Key]:
    """Give the classes of all objects that a function makes or is given by what it calls."""
    for text in definition.callees:
        target = _called(linker, path, owner, text.split("."))
        if target is not None and target.kind == "def":
            yield from _returned(linker, target.path, target.index)
        elif text.rpartition(".")[2][:1].isupper():
            yield from _named(target)


def _called(linker: Linker, path: str, owner: int, parts: list[str]) -> Target | None:
    """Give what the text of a call names: from a name of the module on, or a method of the same object."""
    if len(parts) == 2 and parts[0] == "self" and owner >= 0:
        method = linker.method((path, owner), parts[1])
        return None if method is None else Target("def", parts[1], method[0], method[1])
    target = linker.name(path, parts[0])
    for part in parts[1:]:
        target = target and linker.attribute(target, part)
    return target


def _kept(linker: Linker, key: Key, attribute: str) -> Iterator[Key]:
    """Give the classes of what a class keeps in an attribute, or what a property of it says that it returns."""
    getter = linker.method(key, attribute)
    if getter is not None:
        yield from _returned(linker, getter[0], getter[1])
    for path, index, value in linker.stores(key, attribute):
        yield from _made(linker, path, value)
        if value[0] == "N" and path == key[0]:
            params = linker.definition(path, index).params
            param = next((param for param in params if param.name == value[1]), None)
            if param is not None and param.annotation is not None:
                yield from _named(class_of(linker, path, param.annotation))
    declared = linker.annotation(key, attribute)
    if declared is not None:
        yield from _named(class_of(linker, *declared))


def _made(linker: Linker, path: str, value: Node) -> Iterator[Key]:
    if value[0] == "K" and dotted(value[1]).rpartition(".")[2][:1].isupper():
        yield from _named(linker.chain(path, value[1]))


def _returned(linker: Linker, path: str, index: int) -> Iterator[Key]:
    """Give the class of what a function says that it returns."""
    annotation = linker.definition(path, index).returns
    if annotation is not None:
        yield from _named(class_of(linker, path, annotation))


def _named(target: Target | None) -> Iterator[Key]:
    if target is not None and target.kind == "class":
        yield target.path, target.index
