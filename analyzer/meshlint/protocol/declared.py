"""Values of which an annotation says what they are, where nothing else does."""

from __future__ import annotations

from meshlint.mesh.gate import Expr
from meshlint.protocol.facts import ClassFacts, Node, dotted
from meshlint.protocol.link import Linker, Target
from meshlint.protocol.values import Domain, Instance, Paced, Seq, V, listed

Kind = Instance | Paced

Kinds = Kind | tuple[Kind | None, ...]
"""What an annotation says: the kind of one object, or those of a tuple's elements."""


_ATTRS = frozenset(
    ("attr.s", "attr.attrs", "attr.define", "attr.frozen", "attr.mutable", "attrs.define", "attrs.frozen",
     "attrs.mutable", "define", "frozen", "mutable")
)  # fmt: skip

_RECORDS = frozenset(("BaseModel", "BaseSettings", "NamedTuple", "TypedDict", "Struct", "ModelOutput"))


def is_settings(target: Target) -> bool:
    """Say whether the objects of a class of the program are settings, by its name."""
    named = "onfig" in target.name.rpartition(".")[2] or target.name.endswith("Args")
    return named and target.kind == "class"


def is_field(linker: Linker, key: tuple[str, int], name: str) -> bool:
    """Say whether the constructor that a class is given takes an attribute: annotated in a dataclass and its like."""
    for ancestor in linker.mro(key):
        klass = linker.klass(ancestor)
        annotation = next((value for known, value in klass.annotations if known == name), None)
        if annotation is not None:
            return not _of_class_alone(annotation) and _is_record(linker, ancestor, klass)
        if any(known == name for known, _ in klass.attributes):
            return False
    return False


def _of_class_alone(annotation: Node) -> bool:
    return dotted(annotation[1] if annotation[0] == "S" else annotation).rpartition(".")[2] == "ClassVar"


def _is_record(linker: Linker, key: tuple[str, int], klass: ClassFacts) -> bool:
    texts = [dotted(one[1] if one[0] == "K" else one) for one in klass.decorators]
    if any("dataclass" in text.rpartition(".")[2] or text in _ATTRS for text in texts):
        return True
    return any(base in _RECORDS for base in linker.inherits(key))


def typed(domain: Domain, value: V, kinds: Kinds) -> V:
    """Give a value as what is said of it; what is known of it stays."""
    if not isinstance(kinds, tuple):
        return value.holding(kinds) if value.data is None and _is_blank(value.expr, kinds) else value
    if isinstance(value.data, Seq):
        items = value.data.items
        if len(items) != len(kinds):
            return value
        made = [one if kind is None else typed(domain, one, kind) for one, kind in zip(items, kinds, strict=True)]
        return value.holding(listed(made))
    if not _is_blank(value.expr, Paced("")):
        return value
    parts = [_part(domain, value, place, kind) for place, kind in enumerate(kinds)]
    return value.holding(listed(parts)).none_if(domain.no)


def _part(domain: Domain, value: V, place: int, kind: Kind | None) -> V:
    """Give an element of a tuple that is not known by its elements."""
    part = V(domain.opaque(f"#{value.expr.id}[{place}]", (value.expr,)), text=f"{value.text}[{place}]")
    return part if kind is None else typed(domain, part, kind)


def _is_blank(expr: Expr, kind: Kind) -> bool:
    """Say whether a value number leaves open what the value is: an object of the program that is one for all ranks."""
    if expr.op == "ite":
        return all(_is_blank(side, kind) or (side.op == "lit" and side.args[0] is None) for side in expr.args[1:])
    return expr.op == "atom" and not expr.args[2] and (not expr.var or isinstance(kind, Paced))
