"""Gates: value numbers, which are hash-consed expressions over what can differ between ranks.

Two expressions of one `Values` table are equal exactly if they are the same object. Each carries `var`, the mask of
leaf dims along which it can differ between ranks, whether something rank-local is in it, and whether a name was its
only evidence. `meshlint.mesh.evaluate` computes them on a concrete mesh.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from hashlib import blake2b
from typing import Any

from meshlint.mesh.dims import ALL
from meshlint.mesh.group import Group
from meshlint.records import dataclass


class Origin(str, Enum):
    """Where an atom's value comes from, which decides how the simulation chooses it."""

    CONFIG = "config"
    """The same on all ranks, any value: every choice must be safe."""
    CONTRACT = "contract"
    """One outside fact that every rank reads alike: one choice for a run, and some choice must be safe."""
    UNKNOWN = "unknown"
    """Unresolved: assumed uniform and treated as a contract; never evidence."""
    OPAQUE = "opaque"
    """A function of the coordinates in `var`, which function is not known: every function must be safe."""
    LOCAL = "local"
    """Free for each rank: data, files, clocks."""
    APART = "apart"
    """Free for each setting of the coordinates in `var`, and the program itself shows that they do differ."""
    TURN = "turn"
    """What comes next where each rank may go through the same things in another order."""


UNRESOLVED, FUNCTION, SETTING = Origin.UNKNOWN, Origin.OPAQUE, Origin.CONFIG
"""Members under names of their own: Python 3.11 takes ten times as long for one of a class, and walks ask for many."""

_APART, _LOCAL = Origin.APART, Origin.LOCAL

RECEIVED = "received "
"""How the names begin of facts that were made from what ranks were sent."""


@dataclass(slots=True, eq=False)
class Expr:
    """One value number. Make them by a `Values` table only, and store nothing in one but `held`.

    Freezing costs too much here.

    `op` with `args`: `lit`(value), `rank`, `coord`(mask), `extent`(mask), `grank`(group), `global`(group, place),
    `size`(group), `member`(group), `atom`(key, origin, count), `recv`(slot), the arithmetic `+ - * // % min max`, the
    tests `== < <= in not and or`, `ite`(condition, then, else), `list`(elements), `range`(start, stop, step),
    `for`(name, sequence, body), `var`(name).
    """

    id: int
    op: str
    args: tuple[Any, ...]
    var: int
    local: bool = False
    weak: bool = False
    depth: int = 0
    bulk: int = 1
    """At least the number of distinct sub-expressions; a shared one counts for every use, up to a cap."""
    origins: int = 0
    """Which origins the atoms inside have, as bits of `ORIGIN_BITS`."""
    fixed: bool = False
    """The mesh and the rank alone make its value, in every run."""
    held: tuple[Expr, ...] | None = field(default=None, init=False)
    """What `atoms` gives, once it was asked."""

    def __repr__(self) -> str:
        return show(self)


Operand = Expr | int | bool | str | None

BULK_CAP = 1 << 20
ORIGIN_BITS = {origin: 1 << place for place, origin in enumerate(Origin)}
_ORIGINS = {id(origin): (bits, origin.value, origin is Origin.LOCAL) for origin, bits in ORIGIN_BITS.items()}
"""The bits, the word and whether it is local, by the identity of an origin: the hash of a member is slow."""

NUMBER_CAP = 1 << 62
"""Larger numbers are not computed: ranks and sizes are none."""

DEPTH_CAP = 64
"""Deeper expressions become atoms of the same `var`."""

_SWAPPED = {"!=": "==", ">=": "<", ">": "<="}
_ARITHMETIC = frozenset({"+", "-", "*", "//", "%", "min", "max"})
_TESTS = frozenset({"==", "<", "<=", "in"})
_PLACES = frozenset({"rank", "coord", "extent", "grank", "size", "member"})
_FOLDED = frozenset({"global", "+", "-", "*", "min", "max", "==", "<", "<=", "not", "and", "or", "ite"})
"""Operations that always have a value where their operands are whole numbers or truth values."""


@dataclass(slots=True)
class Values:
    """The table of one program's value numbers; an id says what an expression is, whatever was made before it."""

    _table: dict[tuple[Any, ...], Expr] = field(default_factory=dict)

    def _make(self, op: str, args: tuple[Any, ...], var: int, local: bool = False, weak: bool = False) -> Expr:
        key = (op, var, local, weak, args)
        found = self._table.get(key)
        return self._added(key, op, args, var, local, weak) if found is None else found

    def _atom(self, key: Any, args: tuple[str, Origin, bool], var: int, weak: bool) -> Expr:
        """Add an atom; most value numbers are one."""
        text, origin, count = args
        bits, word, local = _ORIGINS[id(origin)]
        number = _hashed(f"'atom'\0{var}\0{local}\0{weak}\0{text!r}\0{word}\0{count}")
        found = self._table[key] = Expr(number, "atom", args, var, local, weak, 1, 1, bits)
        return found

    def _added(self, key: Any, op: str, args: tuple[Any, ...], var: int, local: bool, weak: bool) -> Expr:
        told = "\0".join([_word(part) for part in args])
        number = _hashed(f"{op!r}\0{var}\0{local}\0{weak}\0{told}" if args else f"{op!r}\0{var}\0{local}\0{weak}")
        depth, bulk, origins, every = 0, 1, 0, True
        for part in args:
            if isinstance(part, Expr):
                depth = part.depth if part.depth > depth else depth
                bulk += part.bulk
                origins |= part.origins
                every = every and part.fixed
        depth += 1
        if depth > DEPTH_CAP:
            origin = Origin.LOCAL if local else Origin.OPAQUE if var else Origin.UNKNOWN
            op, args, depth, bulk = "atom", (f"value {number}", origin, False), 1, 1
        bulk = bulk if bulk < BULK_CAP else BULK_CAP
        origins = ORIGIN_BITS[args[1]] if op == "atom" else origins
        fixed = op in _PLACES or (op in _FOLDED and every)
        fixed = fixed or (op == "lit" and isinstance(args[0], int))
        found = self._table[key] = Expr(number, op, args, var, local, weak, depth, bulk, origins, fixed)
        return found

    def lit(self, value: int | bool | str | None) -> Expr:
        """Make a literal."""
        key = (type(value), value)  # True is not 1
        found = self._table.get(key)
        return self._added(key, "lit", (value,), 0, False, False) if found is None else found

    def of(self, value: Operand) -> Expr:
        """Turn a Python value into a literal; an expression stays."""
        return value if isinstance(value, Expr) else self.lit(value)

    def rank(self) -> Expr:
        """Make the global rank."""
        return self._make("rank", (), ALL)

    def world(self) -> Expr:
        """Make the number of ranks."""
        return self._make("extent", (ALL,), 0)

    def coord(self, mask: int, *, weak: bool = False) -> Expr:
        """Make the place of a rank along the leaves in `mask` (`tp_rank`)."""
        return self.rank() if mask == ALL and not weak else self._make("coord", (mask,), mask, weak=weak)

    def extent(self, mask: int) -> Expr:
        """Make the number of ranks along `mask` (`tp_size`)."""
        return self._make("extent", (mask,), 0)

    def group_rank(self, group: Group) -> Expr:
        """Make the place of a rank in its instance of `group`."""
        if group.members is None and group.lists is None and not group.unknown:
            return self.coord(group.dims, weak=group.weak)
        return self._make("grank", (group,), ALL if group.lists is not None else group.dims, weak=group.weak)

    def global_rank(self, group: Group, index: Operand) -> Expr:
        """Make the global rank of place `index` in a rank's instance (`get_global_rank`, a source-rank getter)."""
        place = self.of(index)
        return self._make("global", (group, place), (ALL & ~group.dims) | place.var, weak=group.weak)

    def size(self, group: Group) -> Expr:
        """Make the size of a rank's instance of `group`."""
        if group.members is None and group.lists is None and not group.unknown:
            return self.extent(group.dims)
        return self._make("size", (group,), 0, weak=group.weak)

    def member(self, group: Group) -> Expr:
        """Make the test whether a rank has an instance of `group` (`group is not None`, `rank in ranks`)."""
        if group.members is None and group.lists is None:
            return self.lit(True)
        return self._make("member", (group,), ALL if group.members is None else group.members.var, weak=group.weak)

    def first(self, mask: int, *, weak: bool = False) -> Expr:
        """Make the test for the first place along `mask` (`is_pipeline_first_stage`)."""
        return self.compare("==", self.coord(mask, weak=weak), 0)

    def last(self, mask: int, *, weak: bool = False) -> Expr:
        """Make the test for the last place along `mask`."""
        return self.compare("==", self.coord(mask, weak=weak), self.arithmetic("-", self.extent(mask), 1))

    def atom(self, key: str, origin: Origin, *, var: int = 0, count: bool = False, weak: bool = False) -> Expr:
        """Make a fact that is not computed: a truth value, or a number if `count`.

        `var` matters for OPAQUE (a function of those coordinates) and APART; LOCAL is ALL, the others are uniform.
        """
        if origin is not FUNCTION and origin is not _APART:
            var = ALL if origin is _LOCAL else 0
        asked = (key, id(origin), count, var, weak)  # the hash of a member is slow
        found = self._table.get(asked)
        if found is None:
            found = self._atom(asked, (key, origin, count), var, weak)
        return found

    def received(self, slot: str, *, var: int = 0) -> Expr:
        """Make the value that an operation with `into=slot` left on this rank; `var` as far as dataflow knows it."""
        return self._make("recv", (slot,), var)

    def arithmetic(self, op: str, left: Operand, right: Operand) -> Expr:
        """Make `left op right` for + - * // % min max; literals fold."""
        if op not in _ARITHMETIC:
            raise ValueError(op)
        return self._binary(op, self.of(left), self.of(right))

    def compare(self, op: str, left: Operand, right: Operand) -> Expr:
        """Make a test; != >= > become the negation of == < <=, so that opposite tests are one atom."""
        if op == "not in":
            return self.negate(self.compare("in", left, right))
        if op in _SWAPPED:
            return self.negate(self.compare(_SWAPPED[op], left, right))
        if op not in _TESTS:
            raise ValueError(op)
        first, second = self.of(left), self.of(right)
        if op == "==" and second.id < first.id:
            first, second = second, first
        return self._binary(op, first, second)

    def _binary(self, op: str, left: Expr, right: Expr) -> Expr:
        if left.op == "lit" and right.op == "lit":
            folded = fold(op, left.args[0], right.args[0])
            if folded is not None:
                return self.lit(folded)
        if left is right and op in ("==", "<="):
            return self.lit(True)
        return self._make(op, (left, right), left.var | right.var, left.local or right.local, left.weak or right.weak)

    def negate(self, value: Operand) -> Expr:
        """Make `not value`."""
        expr = self.of(value)
        if expr.op == "not":
            inner: Expr = expr.args[0]
            return inner
        if expr.op == "lit":
            return self.lit(not expr.args[0])
        return self._make("not", (expr,), expr.var, expr.local, expr.weak)

    def both(self, *values: Operand) -> Expr:
        """Make the conjunction, in the order given, short circuit as in Python."""
        return self._junction("and", False, values)

    def either(self, *values: Operand) -> Expr:
        """Make the disjunction."""
        return self._junction("or", True, values)

    def _junction(self, op: str, absorbing: bool, values: tuple[Operand, ...]) -> Expr:
        parts: list[Expr] = []
        for value in values:
            expr = self.of(value)
            parts += list(expr.args) if expr.op == op else [expr]
        kept: dict[int, Expr] = {}
        for part in parts:
            if part.op == "lit" and bool(part.args[0]) is absorbing:
                return self.lit(absorbing)
            if part.op != "lit":
                kept[part.id] = part
        left = tuple(kept.values())
        if len(left) < 2:
            return left[0] if left else self.lit(not absorbing)
        return self._make(op, left, *_merged(left))

    def choose(self, condition: Expr, then: Operand, otherwise: Operand) -> Expr:
        """Make phi(condition, then, otherwise): control dependence counts in `var`."""
        first, second = self.of(then), self.of(otherwise)
        if first is second:
            return first
        if condition.op == "lit":
            return first if condition.args[0] else second
        if condition.op == "not":
            return self.choose(condition.args[0], second, first)
        if first.op == "lit" and second.op == "lit" and (first.args[0], second.args[0]) == (True, False):
            return condition
        return self._make("ite", (condition, first, second), *_merged((condition, first, second)))

    def ranks(self, elements: tuple[Operand, ...]) -> Expr:
        """Make a list of values (ranks, or lists of ranks)."""
        parts = tuple(self.of(element) for element in elements)
        return self._make("list", parts, *_merged(parts))

    def range(self, start: Operand, stop: Operand, step: Operand = 1) -> Expr:
        """Make `range(start, stop, step)`."""
        parts = (self.of(start), self.of(stop), self.of(step))
        return self._make("range", parts, *_merged(parts))

    def each(self, name: str, sequence: Expr, body: Expr) -> Expr:
        """Make `[body for name in sequence]`; `name` is read by `bound`. Names must be unique in one expression."""
        return self._make("for", (name, sequence, body), *_merged((sequence, body)))

    def bound(self, name: str) -> Expr:
        """Make the loop variable of an enclosing `each`."""
        return self._make("var", (name,), 0)

    def rebuilt(self, expr: Expr, change: dict[int, Expr]) -> Expr:
        """Replace sub-expressions by id; parents are made anew so that they fold."""
        if expr.id in change:
            return change[expr.id]
        if not any(isinstance(arg, Expr) for arg in expr.args):
            return expr
        args = tuple(self.rebuilt(arg, change) if isinstance(arg, Expr) else arg for arg in expr.args)
        change[expr.id] = result = expr if args == expr.args else self._again(expr, args)
        return result

    def _again(self, expr: Expr, args: tuple[Any, ...]) -> Expr:
        if expr.op == "not":
            return self.negate(args[0])
        if expr.op in ("and", "or"):
            return self.both(*args) if expr.op == "and" else self.either(*args)
        if expr.op == "ite":
            return self.choose(*args)
        if expr.op in _TESTS:
            return self.compare(expr.op, *args)
        if expr.op in _ARITHMETIC:
            return self.arithmetic(expr.op, *args)
        parts = tuple(arg for arg in args if isinstance(arg, Expr))
        return self._make(expr.op, args, *_merged(parts))


def shows_apart(expr: Expr) -> bool:
    """Say whether something inside of an expression is shown to differ between ranks by the program itself."""
    return bool(expr.origins & ORIGIN_BITS[Origin.APART])


WHICH = " which"
"""How the names of facts end that pick one of several values which the program stores in one place."""


def picks(atom: Expr) -> bool:
    """Say whether a fact only picks one of several stored values: it need not be the one that ranks meet."""
    return atom.op == "atom" and str(atom.args[0]).endswith(WHICH)


def takes_turns(expr: Expr) -> bool:
    """Say whether something inside of an expression comes in an order of each rank's own."""
    return bool(expr.origins & ORIGIN_BITS[Origin.TURN])


def _hashed(text: str) -> int:
    """Give the id of an expression: alike in every run, so that nothing depends on the order of making."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "little")


def _word(part: Any) -> str:
    if isinstance(part, Expr):
        return f"#{part.id}"
    if type(part) is Origin:
        return part.value
    if isinstance(part, Group):
        return f"{part.partition} {part.identity} {part.name} {part.weak}"
    return repr(part)


def _merged(parts: tuple[Expr, ...]) -> tuple[int, bool, bool]:
    var, local, weak = 0, False, False
    for part in parts:
        var |= part.var
        local = local or part.local
        weak = weak or part.weak
    return var, local, weak


def fold(op: str, left: Any, right: Any) -> Any:
    """Compute `left op right`; None where that has no value (a type that does not fit, division by zero, too large)."""
    if op == "==":
        return left == right
    if op == "in":
        return left in right if isinstance(right, (tuple, list)) else None
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    if op in ("//", "%"):
        return None if right == 0 else (left // right if op == "//" else left % right)
    table = {"+": left + right, "-": left - right, "*": left * right, "<": left < right, "<=": left <= right}
    made = table[op] if op in table else (min(left, right) if op == "min" else max(left, right))
    return made if -NUMBER_CAP <= made <= NUMBER_CAP else None


def atoms(expr: Expr) -> tuple[Expr, ...]:
    """Give the atoms and received values in `expr`, each once, in order of appearance."""
    if expr.op in ("atom", "recv"):
        return (expr,)
    known = expr.held
    if known is None:
        known = expr.held = tuple(_atoms(expr))
    return known


def _atoms(expr: Expr) -> list[Expr]:
    found: list[Expr] = []
    seen: set[int] = set()
    stack = [expr]
    while stack:
        here = stack.pop()
        if here.id in seen:
            continue
        seen.add(here.id)
        if here.op in ("atom", "recv"):
            found.append(here)
        stack += [arg for arg in here.args[::-1] if isinstance(arg, Expr)]
    return found


def show(expr: Expr, depth: int = 6) -> str:
    """Write an expression for people: short, and cut off below `depth`."""
    if depth == 0:
        return "..."
    args = [
        show(arg, depth - 1) if isinstance(arg, Expr) else str(getattr(arg, "name", "") or arg) for arg in expr.args
    ]
    if expr.op == "lit":
        return repr(expr.args[0])
    if expr.op in ("atom", "var"):
        return str(expr.args[0])
    if expr.op == "not":
        return f"not {args[0]}"
    if expr.op in ("and", "or") or expr.op in _TESTS or (expr.op in _ARITHMETIC and expr.op not in ("min", "max")):
        return "(" + f" {expr.op} ".join(args) + ")"
    return f"{expr.op}({', '.join(args)})" if args else expr.op
