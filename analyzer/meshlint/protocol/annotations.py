"""What an annotation names: a class of the program, one of a library, or a tuple of such, None beside it left out.

    Optional[X]    X | None    Union[X, None]    "X"    Final[X]    X[int]    Tuple[str, X]    Alias

Of a union of several classes nothing is said, nor of what a list or dict holds.
"""

from __future__ import annotations

from meshlint.protocol.facts import Node, X, dotted, unquoted
from meshlint.protocol.link import Linker, Target

MAX_ALIASES = 4
"""Names for a type that stand for one another."""

_TUPLES = ("Tuple", "tuple")

_SETS = frozenset(("set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"))

_NONE: Node = ("C", None)

_WRAPPERS = frozenset(("Annotated", "ClassVar", "Final", "Optional", "Required", "NotRequired", "ReadOnly"))


def class_node(annotation: Node) -> Node | None:
    """Give what an annotation names but for None beside it, tuples and sets as they are; None for one of several."""
    while True:
        annotation = unquoted(annotation)
        kinds = _kinds(annotation)
        if kinds is not None and len(kinds) != 1:
            return None
        if kinds is not None:
            annotation = kinds[0]
        elif annotation[0] != "S" or _holder(annotation) in _TUPLES or is_set(annotation):
            return annotation if annotation[0] in ("N", "A", "S") else None
        else:
            annotation = annotation[1]  # X[int] is an X


def is_set(annotation: Node) -> bool:
    """Say whether an annotation names a set of something."""
    return annotation[0] == "S" and _holder(annotation) in _SETS


def _kinds(annotation: Node) -> tuple[Node, ...] | None:
    """Give the types that a union or a wrapper lets a value be, None left out; None for anything else."""
    if annotation[0] == "M":
        found: list[Node] = []
        while annotation[0] == "M" and annotation[1] == "|":
            found.append(annotation[3])
            annotation = annotation[2]
        return tuple(part for part in (annotation, *found[::-1]) if part != _NONE)
    if annotation[0] != "S":
        return None
    held, inside = _holder(annotation), _items(annotation)
    if held == "Union":
        return tuple(part for part in inside if part != _NONE)
    return inside[:1] if held in _WRAPPERS else None


def _holder(annotation: Node) -> str:
    return dotted(annotation[1]).rpartition(".")[2]


def _items(annotation: Node) -> tuple[Node, ...]:
    inside: Node = annotation[2]
    items: tuple[Node, ...] = inside[1] if inside[0] == "T" else (inside,)
    return items


def class_of(linker: Linker, path: str, annotation: Node) -> Target | None:
    """Give the class that an annotation names, of the program or of a library."""
    for _ in range(MAX_ALIASES):
        plain = class_node(annotation)
        if plain is None or plain[0] == "S":
            return None
        target = linker.chain(path, plain)
        if target is None or target.kind in ("class", "library"):
            return target
        meant = _alias(linker, target)
        if meant is None:
            return None
        path, annotation = target.path, meant
    return None


def classes_of(linker: Linker, path: str, annotation: Node) -> tuple[Target | None, ...] | None:
    """Give the classes of a tuple of so many, in order; None where an annotation names no such tuple."""
    for _ in range(MAX_ALIASES):
        whole = unquoted(annotation)
        if whole[0] == "S":
            parts = _items(whole) if _holder(whole) in _TUPLES else ()
            known = parts and parts[-1] != X
            return tuple(class_of(linker, path, part) for part in parts) if known else None
        target = linker.chain(path, whole)
        meant = None if target is None else _alias(linker, target)
        if target is None or meant is None:
            return None
        path, annotation = target.path, meant
    return None


def _alias(linker: Linker, target: Target) -> Node | None:
    """Give the type that a name of a module stands for, which is bound once."""
    if target.kind != "var":
        return None
    name = target.name.rpartition(".")[2]
    linker.note("assigned", target.path, name)
    values = [value for known, value in linker.files[target.path].assigns if known == name]
    return values[0] if len(values) == 1 and values[0][0] in ("S", "M", "N", "A") else None
