"""In which order each rank goes through a set, and through what is made from one.

A set is gone through by the hashes of its elements. Those of small numbers are alike in every process. Those of text
hang on a seed that each process draws for itself (PYTHONHASHSEED, which no launcher sets), and those of tensors,
modules and other objects on where they lie in memory. A list, a tuple or a dict made from a set keeps its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshlint.mesh.gate import UNRESOLVED, Expr, Origin, takes_turns
from meshlint.models import names as known
from meshlint.protocol.annotations import is_set
from meshlint.protocol.facts import Node, dotted
from meshlint.protocol.reading import is_number
from meshlint.protocol.values import (
    ALIKE,
    APART,
    BY_USE,
    NOTHING,
    UNTOLD,
    Func,
    Grp,
    Instance,
    Klass,
    Map,
    Seq,
    Unordered,
    V,
    Written,
    hashed_together,
    listed,
    shuffled,
)

if TYPE_CHECKING:
    from meshlint.protocol.walk import Walker

_OBJECTS = frozenset(
    ("parameters", "modules", "children", "buffers", "named_parameters", "named_modules", "named_children",
     "named_buffers", "trainable_parameters")
)  # fmt: skip
"""Methods and names of tensors, of modules, and of their names."""

_TEXTS = frozenset(("format", "join", "lower", "upper", "strip", "replace", "removeprefix", "removesuffix", "str"))
_LINES = frozenset(("split", "splitlines", "rsplit", "listdir", "glob"))

_NUMBERS = frozenset(("len", "int", "range", "hash", "get_rank", "get_world_size", "numel"))

_WORDS = frozenset(("name", "param", "parameter", "module", "tensor", "weight", "dtype"))
"""Names of a text or an object, which in the plural are names of several."""

_COUNTED = frozenset(
    ("id", "idx", "index", "indice", "rank", "size", "step", "length", "count", "num", "number", "dim")
)

_HASHING = ("__hash__", "__eq__")

_NAMED_KINDS = frozenset(("str", "bytes", "Tensor", "Parameter", "Module", "ProcessGroup", "Path", "dtype"))


def of_annotation(annotation: Node) -> Unordered | None:
    """Give the set that an annotation names, None beside it left out: `set[str]`, `Set[nn.Parameter]`."""
    if not is_set(annotation):
        return None
    inside = annotation[2]
    while inside[0] == "S" and dotted(inside[1]).rpartition(".")[2] in ("tuple", "Tuple"):
        inside = inside[2][1][0] if inside[2][0] == "T" and inside[2][1] else inside[2]
    name = dotted(inside).rpartition(".")[2]
    return Unordered(APART if name in _NAMED_KINDS else ALIKE if name in ("int", "bool") else UNTOLD)


def hash_of(walker: Walker, node: Node, value: V) -> str:
    """Give how one element of a set hashes: by what it is, else by how it is written."""
    expr, data = value.expr, value.data
    if expr.op == "lit":
        return APART if isinstance(expr.args[0], str) else ALIKE
    if isinstance(data, Seq):
        inner = node[1] if node[0] == "T" and len(node[1]) == len(data.items) else (("X",),) * len(data.items)
        return hashed_together(hash_of(walker, n, v) for n, v in zip(inner, data.items, strict=True))
    if isinstance(data, Grp | Func | Klass | Written):
        return APART
    if isinstance(data, Instance):
        return _hash_of_object(walker, data)
    if is_number(expr):
        return ALIKE
    told = _hash_by_text(node)
    text = value.text
    if text.endswith(("[0]", "[1]")) and ".named_" in text:  # a name, or what bears it
        text = text[:-3]
    if told != UNTOLD or not text.endswith("[]"):
        return told
    source = text.removesuffix("[]")  # an element: what it is taken from may say what it is
    return _by_source(source.removesuffix("()"), source.endswith("()"))


def _hash_of_object(walker: Walker, data: Instance) -> str:
    """An object hashes by its address, unless its class or one above says how: those of a library are not known."""
    linker = walker.engine.linker
    if any(linker.method(data.key, name) is not None for name in _HASHING):
        return UNTOLD
    known = all(name in ("Module", "object", "Protocol", "ABC") for name in linker.inherits(data.key))
    return APART if known and not any(linker.klass(key).decorators for key in linker.mro(data.key)) else UNTOLD


def _hash_by_text(node: Node) -> str:
    if node[0] == "J":
        return APART
    last = dotted(node[1] if node[0] == "K" else node).rpartition(".")[2].lstrip("_").lower()
    if node[0] == "K":
        return APART if last in _TEXTS else ALIKE if last in _NUMBERS else UNTOLD
    return _by_word(last)


def _by_word(word: str) -> str:
    last = word.rpartition("_")[2]
    if known.is_group(word):
        return APART
    return APART if last in _WORDS else ALIKE if last in _COUNTED else UNTOLD


def hash_in(walker: Walker, node: Node, value: V) -> str:
    """Give how the elements of something hash from which a set is made."""
    data = value.data
    if isinstance(data, Unordered):
        return data.hashes
    if isinstance(data, Seq):
        inner = node[1] if node[0] in "TLE" and len(node[1]) == len(data.items) else (("X",),) * len(data.items)
        return hashed_together(hash_of(walker, n, v) for n, v in zip(inner, data.items, strict=True))
    if isinstance(data, Map):
        kinds = {APART if isinstance(key, str) else ALIKE for key, _ in data.items}
        return hashed_together(kinds | ({UNTOLD} if data.rest else set()))
    if value.expr.op in ("range", "list"):
        return ALIKE
    if node[0] == "G":
        return UNTOLD if node[1] == "dict" else _hash_by_text(node[2])
    return _elements_by_text(node)


def _elements_by_text(node: Node) -> str:
    """Tell by how several elements are written: `model.parameters()`, `names`, `ranks`."""
    if node[0] == "K" and dotted(node[1]) in ("list", "tuple", "iter", "sorted", "reversed") and node[2]:
        return _elements_by_text(node[2][0])
    return _by_source(dotted(node[1] if node[0] == "K" else node), node[0] == "K")


def _by_source(text: str, called: bool) -> str:
    last = text.rpartition(".")[2].lstrip("_").lower()
    if last in _OBJECTS or (called and last in _LINES):
        return APART
    if last == "keys" and called:
        return APART if "state_dict" in text else UNTOLD
    if called:
        return ALIKE if last in _NUMBERS else UNTOLD
    return _by_word(last[:-1]) if last.endswith("s") else ALIKE if last.endswith("indices") else UNTOLD


def made_set(walker: Walker, args: list[V], node: Node) -> V:
    """`set(x)`, `frozenset(x)`."""
    if not args:
        return V(walker.values.atom("set()", UNRESOLVED), Unordered(NOTHING), walker.no, text="set()")
    given, hashes = args[0], hash_in(walker, node[2][0], args[0])
    if isinstance(given.data, Seq):
        return of_display(given, hashes)
    if hashes == ALIKE or (given.data is not None and not isinstance(given.data, Unordered | Map)):
        return given.none_if(walker.no)
    return given.holding(Unordered(hashes)).none_if(walker.no)


def of_display(made: V, hashes: str) -> V:
    """Give a set of known elements."""
    data = made.data
    if hashes == ALIKE or not isinstance(data, Seq):
        return made
    more = len(data.items) > 1
    return made.holding(Seq(data.items, data.parts, shuffled=True)) if more and hashes == APART else made


def of_comprehension(walker: Walker, node: Node, value: V, sources: list[V]) -> Unordered | None:
    """Give what a comprehension makes if it has no order: a set, or something made from one."""
    if node[1] == "set":
        hashes = hash_of(walker, node[2], value)
        return None if hashes == ALIKE else Unordered(hashes)
    return derived(sources)


def derived(sources: list[V]) -> Unordered | None:
    """Give what is made by going through several things, if one of them has no order."""
    kinds = [kind_of(value.data) for value in sources if shuffled(value.data)]
    return Unordered(hashed_together(kinds)) if kinds else None


def kind_of(data: Any) -> str:
    """Give how the elements of what has no order hash."""
    return data.hashes if isinstance(data, Unordered) else APART


def unordered_form(hashes: str) -> str:
    """Give the form of a loop whose order each rank has for itself, or may have."""
    return "unordered" if hashes == APART else "ordered by use" if hashes == BY_USE else "perhaps unordered"


def element_of(walker: Walker, key: str, text: Node, sequence: V) -> V:
    """Give what a loop's variable stands for that goes through something without an order."""
    turn = V(walker.values.atom(key + " element", Origin.TURN), text=f"{sequence.text}[]")
    name = dotted(text[1]) if text[0] == "K" else ""
    if name not in ("enumerate", "zip") or isinstance(sequence.data, Seq):
        return turn
    plain = walker.domain.of(walker.domain.number(key + " place"))
    if name == "enumerate":
        parts = [plain, turn]
    else:
        parts = [turn if shuffled(walker.eval(arg).data) else plain.none_if(None) for arg in text[2]]
    return V(turn.expr, listed(parts), walker.no, text=turn.text)


def settled(walker: Walker, collection: V, expr: Expr) -> Expr:
    """Give what is the same in whatever order something without one is gone through: a sum, a sorted list."""
    if expr.var or not shuffled(collection.data) or not takes_turns(expr):
        return expr
    return walker.values.atom(f"settled #{expr.id}", UNRESOLVED, count=expr.op == "atom" and bool(expr.args[2]))


def joined_sets(op: str, left: V, right: V) -> Unordered | None:
    """Give what a set and another make: `a | b`, `a - b`, `a & b`, `a ^ b`."""
    mine = _kind_of_set(left)
    if mine is None:
        return None
    if op == "-":
        return Unordered(mine)
    other = _kind_of_set(right) or UNTOLD
    if op == "&" and ALIKE in (mine, other):
        return Unordered(ALIKE)
    return Unordered(hashed_together((mine, other)))


def _kind_of_set(value: V) -> str | None:
    """Give how the elements of a set hash, or the keys of a dict, which are one in what is made of them."""
    if isinstance(value.data, Unordered) or (isinstance(value.data, Seq) and value.data.shuffled):
        return kind_of(value.data)
    return _by_source(value.text.removesuffix("()"), True) if value.text.endswith(".keys()") else None


SET_METHODS = {
    "union": "|", "difference": "-", "intersection": "&", "symmetric_difference": "^", "copy": "-",
}  # fmt: skip
"""Methods that make a set from one, and the operation that they are."""


def grown_set(walker: Walker, base: V, name: str, args: list[V], node: Node) -> Unordered | None:
    """Give what a set is, or a list or dict filled in the order of one, once it is given more."""
    data, empty = base.data, isinstance(base.data, Seq | Map) and not base.data.items
    in_turn = [value for value in args if takes_turns(value.expr) or shuffled(value.data)]
    if in_turn and (empty or isinstance(data, Seq)) and not isinstance(data, Unordered):
        return Unordered(hashed_together(walker.frame.turns) or UNTOLD) if walker.frame.turns else derived(in_turn)
    if not isinstance(data, Unordered):
        return None
    if name == "add":
        kinds = [hash_of(walker, n, v) for n, v in zip(node[2], args, strict=False)]
    elif name in ("update", "extend"):
        kinds = [hash_in(walker, n, v) for n, v in zip(node[2], args, strict=False)]
    else:
        kinds = []
    return Unordered(hashed_together((data.hashes, *kinds)))
