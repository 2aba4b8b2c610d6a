"""Of which classes the receiver of a method may be, as far as what is written says it, without walking."""

from __future__ import annotations

from collections.abc import Iterator

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
        yield from _named(linker.name(path, name[:-2]))
        return
    holder: Definition | None = definition
    while holder is not None and (name not in holder.locals or not holder.index):
        holder = linker.definition(path, holder.parent) if holder.parent > 0 else None
    if holder is not None:
        yield from _local(linker, path, holder, name)
        return
    target = linker.name(path, name)
    if target is not None and target.kind == "var":
        for known, value in linker.files[target.path].assigns:
            if known == target.name.rpartition(".")[2]:
                yield from _made(linker, target.path, value)


def _local(linker: Linker, path: str, definition: Definition, name: str) -> Iterator[Key]:
    """Give the class of a parameter, or those of all objects that a function makes."""
    param = next((param for param in definition.params if param.name == name), None)
    if param is not None:
        if param.annotation is not None:
            yield from _named(annotated(linker, path, param.annotation))
        return
    for text in definition.callees:
        if text.rpartition(".")[2][:1].isupper():
            target: Target | None = None
            for place, part in enumerate(text.split(".")):
                target = linker.name(path, part) if not place else target and linker.attribute(target, part)
            yield from _named(target)


def _kept(linker: Linker, key: Key, attribute: str) -> Iterator[Key]:
    """Give the classes of what a class keeps in an attribute."""
    for path, index, value in linker.stores(key, attribute):
        yield from _made(linker, path, value)
        if value[0] == "N" and path == key[0]:
            params = linker.definition(path, index).params
            param = next((param for param in params if param.name == value[1]), None)
            if param is not None and param.annotation is not None:
                yield from _named(annotated(linker, path, param.annotation))
    declared = linker.annotation(key, attribute)
    if declared is not None:
        yield from _named(annotated(linker, *declared))


def _made(linker: Linker, path: str, value: Node) -> Iterator[Key]:
    if value[0] == "K" and dotted(value[1]).rpartition(".")[2][:1].isupper():
        yield from _named(linker.chain(path, value[1]))


def annotated(linker: Linker, path: str, annotation: Node) -> Target | None:
    """Give the class of the program that an annotation names, None beside it left out."""
    plain = class_node(annotation)
    target = None if plain is None else linker.chain(path, plain)
    return target if target is not None and target.kind == "class" else None


def class_node(annotation: Node) -> Node | None:
    """Give what an annotation names but for None beside it; None where it is a type of several parts."""
    while annotation[0] == "S" or (annotation[0] == "M" and annotation[1] == "|"):
        if annotation[0] == "S" and dotted(annotation[1]).rpartition(".")[2] != "Optional":
            return None
        annotation = annotation[2]
    return annotation


def _named(target: Target | None) -> Iterator[Key]:
    if target is not None and target.kind == "class":
        yield target.path, target.index
