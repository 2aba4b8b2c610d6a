"""Abstract values: what a name stands for while one function is walked.

A `V` joins a value number of `meshlint.mesh.gate` (what the value is on each rank) with what it structurally is: a
group, a function, an object of a class, a list. Unknown is a value number of its own origin and never evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from meshlint.mesh.dims import ALL, STANDARD, Axes, leaf_of
from meshlint.mesh.gate import (
    FUNCTION,
    ORIGIN_BITS,
    RECEIVED,
    SETTING,
    UNRESOLVED,
    Expr,
    Origin,
    Values,
    show,
    shows_apart,
)
from meshlint.mesh.group import TENSOR, Group
from meshlint.models import names as known
from meshlint.protocol.link import Target
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.protocol.frame import Frame

ClassKey = tuple[str, int]

_UNKNOWN, _CONTRACT, _TURN = (ORIGIN_BITS[origin] for origin in (Origin.UNKNOWN, Origin.CONTRACT, Origin.TURN))

MAX_EXPR = 40
"""Atoms and operations kept in one value number; a larger one is folded into an opaque atom of the same var."""


MAX_BULK = 4096
"""The same where a part that stands in several places counts for each of them: what goes through it does so too."""

MAX_PHIS = 4
"""How deep joined values are looked into."""

MAX_NULL = 400
"""The same for the condition under which a value is None, which is asked for more often than it grows."""

MAX_PARTS = 512
"""Elements kept of a list or dict, inner ones counted where they stand: a larger one is not looked into."""

HOLLOW = "hollow "
"""How the keys of buffers begin that nothing has filled yet."""

MAX_INSIDE = 24
"""How far down elements of elements tell two arguments apart."""

MAX_GIVEN = 4
"""The same for functions with arguments given that are given to functions."""

MAX_WAYS = 4
"""Groups that one value may be."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module or a name of a library."""

    target: Target


@dataclass(slots=True, eq=False)
class Func:
    """A function of the program, perhaps bound to a receiver, inside a frame, or with arguments already given."""

    path: str
    index: int
    receiver: V | None = None
    frame: Frame | None = None
    args: tuple[V, ...] = ()
    kwargs: tuple[tuple[str, V], ...] = ()
    weak: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A function of a library with keywords already given."""

    target: Target
    kwargs: tuple[tuple[str, V], ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A number as text, as the environment holds it: the text of zero is as true as any."""

    number: Expr


@dataclass(frozen=True, slots=True)
class Klass:
    """A class of the program."""

    key: ClassKey


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the program; `weak` where only an annotation says so.

    `given` are the attributes that hold the groups it was made with: None where it was made without.
    """

    key: ClassKey
    weak: bool = False
    given: tuple[tuple[str, Group | None], ...] = ()
    bare: bool = False
    """Made without arguments: its fields hold their defaults."""


@dataclass(frozen=True, slots=True)
class Grp:
    """A process group."""

    group: Group


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of two process groups, by a condition."""

    condition: Expr
    then: Grp | OneOf
    otherwise: Grp | OneOf


@dataclass(frozen=True, slots=True)
class RanksOf:
    """The global ranks of the instance of a group that the rank is in."""

    group: Group


@dataclass(frozen=True, slots=True)
class MeshOf:
    """A device mesh, or the slice of one, over named dims; `names` are those that the program itself gives them."""

    dims: int
    weak: bool = False
    names: tuple[str, ...] = ()

    @property
    def group(self) -> Group:
        """The group of the mesh."""
        return Group(self.dims, weak=self.weak)


@dataclass(frozen=True, slots=True)
class SliceOf(MeshOf):
    """One dim of a mesh, of which only the name is known that the program gives it."""

    @property
    def group(self) -> Group:
        """The group of the dim: all of its members run the program that makes the mesh."""
        return Group(self.dims, identity=f"{TENSOR}dim {self.names[0]}", name=self.names[0])


def slice_of(name: str) -> SliceOf:
    """Make one dim of a mesh by a name that is the program's own."""
    return SliceOf(leaf_of(f"{TENSOR}dim {name}"), False, (name,))


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """A list, tuple or set whose elements are known; made by `listed`."""

    items: tuple[V, ...]
    parts: int = 0
    """Elements, with those of elements."""
    shuffled: bool = False
    """A set that each rank may go through in another order than that in which it is written."""


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """A dict with constant keys; `rest` says that others may be there; made by `mapped`."""

    items: tuple[tuple[Any, V], ...]
    rest: bool = False
    parts: int = 0

    def get(self, key: Any) -> V | None:
        """Give the value under a key."""
        name: Any
        value: V
        for name, value in self.items[::-1]:
            if name == key and type(name) is type(key):
                return value
        return None


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a sequence that a rank takes: every `step`th element from `start` on."""

    start: Expr
    step: Expr
    whole: int
    """The value number of the sequence."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A tensor of a known number of elements: a literal, or one of several by conditions."""

    many: Expr


NOTHING, ALIKE, APART, BY_USE, UNTOLD = "nothing", "alike", "apart", "by use", ""
"""How the elements of a set hash: it has none yet; alike in every process (small numbers); by their address or by a
seed of the process; not known. `BY_USE` is no set, but what came in the order in which each rank first used it."""


@dataclass(frozen=True, slots=True)
class Unordered:
    """A set, or what is made from one element by element: each rank may go through it in another order."""

    hashes: str = UNTOLD
    """How its elements hash, or those of the set that it was made from."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The elements of given data that a mask selects: how many there are differs from rank to rank; `of` by name."""

    of: str


@dataclass(frozen=True, slots=True)
class Config:
    """An object whose attributes are settings."""

    text: str


@dataclass(frozen=True, slots=True)
class Work:
    """What an asynchronous operation returns."""

    handle: str


@dataclass(frozen=True, slots=True)
class Paced:
    """An object of a library's class, by its name, that says how far this process is; `over` once it was waited for."""

    name: str
    over: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Phi:
    """What two values were joined from; it counts as long as the value number is still `expr`."""

    condition: Expr
    then: V
    otherwise: V
    expr: Expr
    tests: frozenset[int] = frozenset()
    """The value numbers of all conditions that it may hang on, parts of them included."""
    depth: int = 1


@dataclass(slots=True, eq=False)
class V:
    """One abstract value. Nothing stores to one; it is not frozen because walks make them by the hundred thousand.

    `null` is the condition under which it is None (None: not worked out yet). `label` names the payload: a batch key,
    or `~name` of the variable that holds it. `buf` tells storage apart, so that a reduction in place reaches every
    alias. `text` is how the source spells it. `phi` keeps what was joined, for where the condition is known again.
    """

    expr: Expr
    data: Any = None
    null: Expr | None = None
    label: str = ""
    buf: int = 0
    text: str = ""
    phi: Phi | None = None

    def again(self) -> V:
        """Give the same value once more: what is bound to it is no alias of what is bound to this one."""
        return V(self.expr, self.data, self.null, self.label, self.buf, self.text, self.phi)

    def spelled(self, text: str) -> V:
        """Give the same value under another text."""
        return V(self.expr, self.data, self.null, self.label, self.buf, text, self.phi)

    def holding(self, data: Any) -> V:
        """Give the same value number as another thing."""
        return V(self.expr, data, self.null, self.label, self.buf, self.text, self.phi)

    def none_if(self, null: Expr | None) -> V:
        """Give the same value with another condition under which it is None."""
        return V(self.expr, self.data, null, self.label, self.buf, self.text, self.phi)

    def labelled(self, label: str) -> V:
        """Give the same value as another payload."""
        return V(self.expr, self.data, self.null, label, self.buf, self.text, self.phi)

    def unjoined(self) -> V:
        """Give the same value without what it was joined from."""
        return V(self.expr, self.data, self.null, self.label, self.buf, self.text)

    def identity(self, inside: int = 0) -> tuple[Any, ...]:
        """Give what tells two arguments apart for a summary; `inside` is in how many others it stands."""
        null = -1 if self.null is None else self.null.id
        return (self.expr.id, _data_key(self.data, inside), null, self.label)


def listed(items: Iterable[V]) -> Seq | None:
    """Give known elements as they are; None where there are too many."""
    held = tuple(items)
    parts = _parts(held)
    return Seq(held, parts) if parts <= MAX_PARTS else None


def mapped(items: Iterable[tuple[Any, V]], rest: bool) -> Map | None:
    """Give known keys with their values; None where there are too many."""
    held = tuple(items)
    parts = _parts(value for _, value in held)
    return Map(held, rest, parts) if parts <= MAX_PARTS else None


def _parts(items: Iterable[V]) -> int:
    return sum(1 + (v.data.parts if isinstance(v.data, Seq | Map) else 0) for v in items)


def _data_key(data: Any, inside: int = 0) -> Any:
    if data is None:
        return None
    if isinstance(data, Func):
        receiver = None if data.receiver is None else _data_key(data.receiver.data, inside + 1)
        around = -1 if data.frame is None else data.frame.serial
        given = tuple(a.identity(inside + 1) for a in data.args[:8]) if inside < MAX_GIVEN else len(data.args)
        return (data.path, data.index, receiver, around, given)
    if isinstance(data, Seq):
        kind = "set" if data.shuffled else "seq"
        if inside >= MAX_INSIDE:
            return (kind, len(data.items))
        return (kind, tuple(v.identity(inside + 1) for v in data.items[:8]), len(data.items))
    if isinstance(data, Map):
        if inside >= MAX_INSIDE:
            return ("map", len(data.items))
        return ("map", tuple((k, v.identity(inside + 1)) for k, v in data.items[:16]))
    return data


@dataclass(slots=True)
class Domain:
    """The operations on values, over one table of value numbers."""

    values: Values
    axes: Axes = STANDARD
    fresh: int = 0
    _masks: dict[tuple[str, ...], int] = field(default_factory=dict)
    _groups: dict[int, Group] = field(default_factory=dict)
    _tests: dict[int, frozenset[int]] = field(default_factory=dict)
    _no: Expr | None = None
    _literals: dict[tuple[Any, Any], V] = field(default_factory=dict)
    _named: dict[tuple[str, str, str], V] = field(default_factory=dict)
    """What names alone tell, by the name, the key and the text."""
    _smalls: dict[int, Expr] = field(default_factory=dict)
    """Large value numbers and what they are folded into."""

    @property
    def no(self) -> Expr:
        """The literal False."""
        if self._no is None:
            self._no = self.values.lit(False)
        return self._no

    def mask(self, dims: tuple[str, ...]) -> int:
        """Give the mask of dims by name."""
        if dims not in self._masks:
            self._masks[dims] = self.axes.mask(*dims) if dims else 0
        return self._masks[dims]

    # -- making --------------------------------------------------------------------------------------------------

    def const(self, value: Any, text: str = "") -> V:
        """Make a literal. Numbers that are not whole are unknown."""
        if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 31:
            value = int(value)
        if type(value) is float:  # of which two that are equal may be written in two ways
            return self._literal(value)
        asked = (type(value), value)  # True is not 1
        known = self._literals.get(asked)
        if known is None:
            known = self._literals[asked] = self._literal(value)
        return V(known.expr, None, known.null, "", 0, text if known.expr.op == "lit" else "")

    def _literal(self, value: Any) -> V:
        if value is None or isinstance(value, str | bool | int):
            return V(self.values.lit(value), null=self.values.lit(value is None))
        return self.unknown(f"const {value!r}", nonnull=True)

    def unknown(self, key: str, *, text: str = "", nonnull: bool = False, label: str = "") -> V:
        """Make a value that is not known: uniform, and never evidence."""
        return V(self.values.atom(key, UNRESOLVED), None, self.no if nonnull else None, label, 0, text)

    def number(self, key: str, origin: Origin = UNRESOLVED, *, var: int = 0) -> Expr:
        """Make an unknown number."""
        return self.values.atom(key, origin, count=True, var=var)

    def of(self, expr: Expr, data: Any = None, text: str = "") -> V:
        """Make a value that is never None."""
        return V(expr, data, self._no or self.no, "", 0, text)

    def setting(self, text: str) -> V:
        """Make the value of a setting: alike on all ranks, any value."""
        last = text.rpartition(".")[2]
        for name, dims in known.SIZES:
            if last == name:
                return self.of(self.values.extent(self.mask(dims)), text=text)
        if last in known.WORLD_SIZE:
            return self.of(self.values.world(), text=text)
        if last in known.GLOBAL_RANK and not known.of_a_matrix(text):
            return self.of(self.values.coord(ALL, weak=True), text=text)
        if last in known.LOCAL_RANK:
            return self.of(self.values.coord(ALL, weak=True), text=text)
        return V(self.values.atom(text, SETTING), Config(text), text=text)

    def environment(self, name: str) -> V | None:
        """Give what a launcher puts under a name of the environment; None for other names."""
        what = dict(known.ENVIRON).get(name)
        if what is None:
            return None
        number = self.values.world() if what == "size" else self.values.rank()
        if what == "local":
            number = self.values.coord(ALL, weak=True)
        return V(self.values.atom(f"environ {name}", UNRESOLVED), Written(number), text=name)

    def by_name(self, name: str, key: str, text: str = "") -> V:
        """Make what a name alone tells: evidence of a lower grade, else unknown."""
        asked = (name, key, text)
        known = self._named.get(asked)
        if known is None:
            known = self._named[asked] = self._by_name(name, key, text)
        return known.again()

    def _by_name(self, name: str, key: str, text: str) -> V:
        bare = (name.lower() if name.isupper() else name).lstrip("_").removesuffix("_gloo").removesuffix("_cpu")
        values = self.values
        if bare in known.CONFIG:
            return V(values.atom(bare, SETTING), Config(bare), values.lit(False), text=text or name)
        if bare in known.GLOBAL_RANK and not known.of_a_matrix(f"{key} {text}"):
            return self.of(values.coord(ALL, weak=True), text=text)
        if bare in known.LOCAL_RANK:
            return self.of(values.coord(ALL, weak=True), text=text)
        if bare in known.WORLD_SIZE:
            return self.of(values.world(), text=text)
        if bare.endswith("_mesh") and bare.removesuffix("_mesh") in dict(known.MESH_DIMS):
            mesh = MeshOf(self.mask(dict(known.MESH_DIMS)[bare.removesuffix("_mesh")]), weak=True)
            return V(values.atom(key, UNRESOLVED), mesh, text=text or name)
        for ending in ("_rank", "_group", "_pg", "_process_group", "_world_size", "_size"):
            if not bare.endswith(ending):
                continue
            dims = dict(known.DIMS).get(bare.removesuffix(ending))
            if dims is None:
                continue
            mask = self.mask(dims)
            if ending == "_rank":
                return self.of(values.coord(mask, weak=True), text=text)
            if ending in ("_world_size", "_size"):
                return self.of(values.extent(mask), text=text)
            return V(values.atom(key, UNRESOLVED), Grp(Group(mask, name=name, weak=True)), text=text)
        return self.unknown(key, text=text)

    def group_of(self, value: V) -> Group | None:
        """Give the group that a value is where no more is known than that it is one: the same value, the same group."""
        expr = value.expr
        if expr.local or expr.op not in ("atom", "ite") or (expr.op == "atom" and expr.args[2]):
            return None
        made = self._groups.get(expr.id)
        if made is None:
            text = (value.text or "given").rpartition(":")[2]
            made = Group(leaf_of(show(expr)), identity=f":{expr.id}", name=".".join(text.split(".")[-2:]))
            self._groups[expr.id] = made
        return made

    # -- reading -------------------------------------------------------------------------------------------------

    def is_none(self, value: V) -> Expr:
        """Give the condition under which a value is None."""
        if value.null is not None:
            return value.null
        expr = value.expr
        if expr.op == "lit":
            return self.values.lit(expr.args[0] is None)
        if expr.op == "atom":
            key, origin, count = expr.args
            if count:
                return self.values.lit(False)
            return self.values.atom(f"{key} is None", origin, var=expr.var, weak=expr.weak)
        if expr.op == "ite":
            condition, then, otherwise = expr.args
            return self.choose(condition, self.is_none(V(then)), self.is_none(V(otherwise)))
        if expr.op == "recv":
            return self.values.compare("==", expr, None)
        return self.values.lit(False)

    def truth(self, value: V) -> Expr:
        """Give the condition under which a value counts as true."""
        data = value.data
        if data is not None:
            if isinstance(data, Seq):
                return self.values.lit(bool(data.items))
            if isinstance(data, Map) and not data.rest and data.items:
                return self.values.lit(True)
            if isinstance(data, Grp | OneOf | Func | Given | Instance | Klass | Module | Paced | Work):
                return self.values.negate(self.is_none(value))
        if value.null is not None and value.null.op != "lit" and value.expr.op in ("atom", "recv"):
            return self.values.negate(value.null)
        return self._true(value.expr)

    def _true(self, expr: Expr) -> Expr:
        values = self.values
        if expr.op == "lit":
            return values.lit(bool(expr.args[0]))
        if expr.op == "ite":
            return self.choose(expr.args[0], self._true(expr.args[1]), self._true(expr.args[2]))
        if expr.op in ("rank", "coord", "extent", "grank", "size", "+", "-", "*", "//", "%", "min", "max"):
            return values.negate(values.compare("==", expr, 0))
        if expr.op == "atom" and expr.args[2]:
            return values.negate(values.compare("==", expr, 0))
        return expr

    def choose(self, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        """Make phi of two conditions as plain logic, so that equal conditions are one value number."""
        if then is otherwise:
            return then
        values = self.values
        if then is condition:
            return values.either(condition, otherwise)
        if otherwise is condition:
            return values.both(condition, then)
        against = values.negate(condition)
        if then is against:
            return values.both(against, otherwise)
        if otherwise is against:
            return values.either(against, then)
        if then.op == "lit":
            return (
                values.either(condition, otherwise)
                if then.args[0]
                else values.both(values.negate(condition), otherwise)
            )
        if otherwise.op == "lit":
            return values.either(values.negate(condition), then) if otherwise.args[0] else values.both(condition, then)
        return values.choose(condition, then, otherwise)

    def join(self, condition: Expr, then: V, otherwise: V, *, kept: bool = True) -> V:
        """Join two values at the end of a branch: control dependence counts. What was joined is kept unless told so."""
        if then is otherwise:
            return then
        if condition.op == "lit":
            return then if condition.args[0] else otherwise
        if is_same(then, otherwise):
            return then if kept or then.phi is None else then.unjoined()
        null = self.choose(condition, self.is_none(then), self.is_none(otherwise))
        if null.bulk > MAX_NULL:
            null = self.small(null)
        data = None
        if then.data is not None or otherwise.data is not None:
            data = self._both(condition, then, otherwise, null)
        expr = self.small(self.values.choose(condition, then.expr, otherwise.expr))
        label = then.label
        if label != otherwise.label:
            label = min(label, otherwise.label, key=lambda name: (not name, name.startswith("~")))
        buf = then.buf
        if buf != otherwise.buf:
            empty = [v for v in (then, otherwise) if v.expr.op == "lit" and v.expr.args[0] is None]
            buf = (buf or otherwise.buf) if empty else 0
        phi = _phi(condition, then, otherwise, expr, self.tests(condition)) if kept else None
        return V(expr, data, null, label, buf, then.text, phi)

    def _both(self, condition: Expr, then: V, otherwise: V, null: Expr) -> Any:
        """Give what a joined value is in itself; `null` is where it is None."""
        alike = then.data is otherwise.data or _data_key(then.data) == _data_key(otherwise.data)
        data = then.data if alike else None
        if data is None:
            if otherwise.expr.op == "lit" and otherwise.expr.args[0] is None:
                data = then.data
            elif then.expr.op == "lit" and then.expr.args[0] is None:
                data = otherwise.data
        if data is not None and null.op != "lit" and isinstance(data, Seq | Map):
            data = None
        none = then.data is None or otherwise.data is None
        if not none and data is None and (isinstance(then.data, Unordered) or isinstance(otherwise.data, Unordered)):
            data = _either_order(then.data, otherwise.data)
        if not none and data is None and isinstance(then.data, Instance) and isinstance(otherwise.data, Instance):
            data = _any_made(then.data) if _any_made(then.data) == _any_made(otherwise.data) else None
        if not none and isinstance(then.data, Sized) and isinstance(otherwise.data, Sized):
            data = Sized(self.small(self.values.choose(condition, then.data.many, otherwise.data.many)))
        if not none and data is None and isinstance(then.data, Grp | OneOf) and isinstance(otherwise.data, Grp | OneOf):
            data = one_of(condition, then.data, otherwise.data)
        return data

    def tests(self, condition: Expr) -> frozenset[int]:
        """Give the value numbers of a condition and of its parts, as far as `implied` looks."""
        found = self._tests.get(condition.id)
        if found is None:
            below = condition.args if condition.op in ("not", "and", "or") else ()
            found = self._tests[condition.id] = frozenset((condition.id,)).union(*map(self.tests, below))
        return found

    def refined(self, value: V, known: dict[int, bool], depth: int = 0) -> V:
        """Give what is left of a joined value where some conditions are known to hold or not."""
        phi = value.phi
        if phi is None or phi.expr is not value.expr or depth > MAX_PHIS or phi.tests.isdisjoint(known):
            return value
        side = implied(phi.condition, known)
        if side is None:
            then, otherwise = (self.refined(v, known, depth + 1) for v in (phi.then, phi.otherwise))
            if then is phi.then and otherwise is phi.otherwise:
                return value
            left = self.join(phi.condition, then, otherwise)
        else:
            left = self.refined(phi.then if side else phi.otherwise, known, depth + 1)
        surely = value.null is not None and value.null.op == "lit" and not value.null.args[0]
        null = value.null if surely else left.null
        if null is left.null and left.label == value.label and left.buf == value.buf:
            return left
        return V(left.expr, left.data, null, left.label or value.label, left.buf or value.buf, left.text, left.phi)

    def small(self, expr: Expr) -> Expr:
        """Fold a value number that has grown too large into one opaque atom."""
        if expr.bulk < MAX_EXPR:
            return expr
        known = self._smalls.get(expr.id)
        if known is None:
            fits = expr.bulk < MAX_BULK and _size(expr, MAX_EXPR) < MAX_EXPR
            known = self._smalls[expr.id] = expr if fits else self.opaque(f"#{expr.id}", (expr,), close=True)
        return known

    def opaque(self, key: str, parts: tuple[Expr, ...], *, count: bool = False, close: bool = False) -> Expr:
        """Make the value of an unknown function of values: it varies where they vary.

        A `close` one (a length, an element, a comparison) is free where they are, and shown to differ where they are.
        """
        var = 0
        for part in parts:
            var |= part.var
        if var == 0:
            if any(map(_is_received, parts)):
                key = key if key.startswith(RECEIVED) else RECEIVED + key
            return self.values.atom(key, self._origin(parts), count=count)
        if close and any(map(shows_apart, parts)):
            return self.values.atom(key, Origin.APART, var=var, count=count)
        if close and any(part.local for part in parts):
            return self.values.atom(key, Origin.LOCAL, count=count)
        return self.values.atom(key, FUNCTION, var=var, count=count, weak=True)

    def _origin(self, parts: tuple[Expr, ...]) -> Origin:
        origins = 0
        for part in parts:
            origins |= part.origins
        if origins & _TURN:
            return Origin.TURN
        if not origins or origins & _UNKNOWN:
            return UNRESOLVED
        return Origin.CONTRACT if origins & _CONTRACT else SETTING

    def cleared(self, value: V, dims: int, key: str) -> V:
        """Give what is left of a value after a reduction over `dims`: it no longer varies along them."""
        expr = value.expr
        if expr.var == 0:
            return value
        left = expr.var & ~dims
        made = self.values.atom(key, FUNCTION, var=left, weak=True) if left else self.values.atom(key, UNRESOLVED)
        null = value.null
        if null is not None and null.var & dims:
            null = None
        return V(made, value.data, null, value.label, value.buf, value.text, value.phi)

    def numeric(self, value: V) -> Expr:
        """Give a value number for arithmetic: unknown values become unknown numbers of the same key."""
        expr = value.expr
        if expr.op == "atom" and not expr.args[2]:
            return self.values.atom(expr.args[0], expr.args[1], var=expr.var, count=True, weak=expr.weak)
        return expr


def shuffled(data: Any) -> bool:
    """Say whether each rank may go through something in another order."""
    return data.hashes != ALIKE if isinstance(data, Unordered) else isinstance(data, Seq) and data.shuffled


def hashed_together(kinds: Iterable[str]) -> str:
    """Give how the elements of a set hash that come from several places."""
    held = set(kinds)
    return next((kind for kind in (APART, BY_USE, UNTOLD, ALIKE) if kind in held), NOTHING)


def _any_made(made: Instance) -> Instance:
    return Instance(made.key, made.weak, made.given) if made.bare else made


def _either_order(then: Any, otherwise: Any) -> Unordered | None:
    """Join what has no order with another such, or with a list or dict that is empty so far."""
    kinds: list[str] = []
    for data in (then, otherwise):
        if isinstance(data, Unordered):
            kinds.append(data.hashes)
        elif isinstance(data, Seq) and data.shuffled:
            kinds.append(APART)
        elif not isinstance(data, Seq | Map) or data.items or (isinstance(data, Map) and data.rest):
            return None
    return Unordered(hashed_together(kinds))


def is_same(one: V, other: V) -> bool:
    """Say whether two values are one, made twice: in each round of a loop, or on both sides of a branch."""
    if one.expr is not other.expr or one.null is not other.null or one.label != other.label or one.buf != other.buf:
        return False
    return one.data is other.data or bool(_data_key(one.data) == _data_key(other.data))


def is_hollow(atom: Expr) -> bool:
    """Say whether a value is a buffer that nothing has filled yet."""
    return atom.op == "atom" and str(atom.args[0]).startswith(HOLLOW)


def _phi(condition: Expr, then: V, otherwise: V, expr: Expr, tests: frozenset[int]) -> Phi:
    """Keep what was joined, and of what that was joined from no more than a few steps."""
    below = [v.phi for v in (then, otherwise) if v.phi is not None]
    depth = 1 + max([phi.depth for phi in below], default=0)
    if depth <= MAX_PHIS:
        return Phi(condition, then, otherwise, expr, tests.union(*(phi.tests for phi in below)), depth)
    first, second = (v if v.phi is None else v.unjoined() for v in (then, otherwise))
    return Phi(condition, first, second, expr, tests)


def facts_of(condition: Expr) -> dict[int, bool]:
    """Give what is known where a condition holds: its conjuncts, by value number."""
    known: dict[int, bool] = {}
    stack = [(condition, True)]
    while stack:
        expr, holds = stack.pop()
        known[expr.id] = holds
        if expr.op == "not":
            stack.append((expr.args[0], not holds))
        elif expr.op == ("and" if holds else "or"):
            stack += [(part, holds) for part in expr.args]
    return known


def implied(condition: Expr, known: dict[int, bool]) -> bool | None:
    """Say whether a condition holds where others do; None where they do not tell."""
    found = known.get(condition.id)
    if found is not None:
        return found
    if condition.op == "not":
        inner = implied(condition.args[0], known)
        return None if inner is None else not inner
    if condition.op in ("and", "or"):
        parts = [implied(part, known) for part in condition.args]
        decides = condition.op == "or"
        if decides in parts:
            return decides
        return None if None in parts else not decides
    return None


def one_of(condition: Expr, then: Grp | OneOf, otherwise: Grp | OneOf) -> OneOf | None:
    """Join two groups; None where there would be too many."""
    if _ways(then) + _ways(otherwise) > MAX_WAYS:
        return None
    return OneOf(condition, then, otherwise)


def _ways(group: Grp | OneOf) -> int:
    return 1 if isinstance(group, Grp) else _ways(group.then) + _ways(group.otherwise)


def _size(expr: Expr, cap: int) -> int:
    seen: set[int] = set()
    stack = [expr]
    while stack and len(seen) < cap:
        here = stack.pop()
        if here.id in seen:
            continue
        seen.add(here.id)
        stack += [arg for arg in here.args if isinstance(arg, Expr)]
    return len(seen)


def _is_received(expr: Expr) -> bool:
    """Say whether a value came out of an operation that gives all ranks the source's, or was made from such a one."""
    return expr.op == "recv" or (expr.op == "atom" and str(expr.args[0]).startswith(RECEIVED))
