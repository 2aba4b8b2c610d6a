"""The evaluator's state: frames, the journal that takes arms back, origins, bounds."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from meshlint.config.python.program import Module, Program
from meshlint.config.python.values import (
    NONE,
    ClassVal,
    Dep,
    Func,
    Leaf,
    Map,
    Record,
    Seq,
    Site,
    Slot,
    Unknown,
    Unset,
    Val,
    origins_of,
)
from meshlint.config.value import Data, Kind, Origin
from meshlint.records import dataclass

MAX_STEPS = 60_000
"""Expressions and statements of one run."""
MAX_DEPTH = 140
"""Expressions inside each other, over all calls."""
MAX_CALLS = 24
"""Functions inside each other."""
MAX_SAME = 3
"""Times that one function may be inside itself."""
MAX_ITEMS = 2_000
"""Items of a list, turns of a loop."""
MAX_TEXT = 100_000
"""Characters of a string."""
MAX_BITS = 128
"""Bits of a whole number."""
MAX_HISTORY = 8
"""Writes of one attribute that are remembered."""
MAX_ORIGINS = 8

MISSING: Any = object()


class Exhausted(Exception):  # noqa: N818 - a bound, turned into one unknown
    """A bound was reached: what is evaluated is too large to be known."""


@dataclass(slots=True, eq=False)
class Frame:
    """The names of one function being evaluated, or of a module."""

    module: Module
    names: dict[Any, Any]
    scope: str = ""
    closure: Frame | None = None
    function: Func | None = None
    result: Val = NONE
    early: list[tuple[Site, Val]] = field(default_factory=list)
    """Values that it returns already if an undecided condition holds."""
    outer: frozenset[str] = frozenset()
    """Names declared global."""


@dataclass(frozen=True, slots=True, eq=False)
class CallSite:
    """A call with its arguments evaluated. `rest` says why there may be further keyword arguments."""

    node: ast.Call
    args: tuple[Val, ...]
    kwargs: Mapping[str, Val]
    rest: str = ""

    def argument(self, index: int, name: str) -> Val | None:
        """Give an argument by position or keyword."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[index] if 0 <= index < len(self.args) else None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A write that came out: its order, dotted key, value and further origins."""

    order: int
    key: str
    value: Val | Unset
    uses: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Sink:
    """A call that starts something: its name, place, enclosing function, call, and its config at that moment."""

    name: str
    site: CallSite
    module: Module
    scope: str
    rows: tuple[Row, ...]
    record: Record | None


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What a call without arguments gave, to be copied for whoever calls it next."""

    value: Val
    start: int
    length: int
    steps: int
    touched: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Caches:
    """What holds for every run over one program: origins, leaves and calls of nodes, and what modules own.

    `shared` are the ids of the dicts behind module-level objects: a function that writes one is not remembered.
    """

    surface: str
    origins: dict[int, Origin] = field(default_factory=dict)
    uses: dict[int, tuple[Origin, ...]] = field(default_factory=dict)
    leaves: dict[int, Leaf] = field(default_factory=dict)
    calls: dict[int, Memory | None] = field(default_factory=dict)
    generators: dict[int, bool] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)
    made: dict[int, ast.Call] = field(default_factory=dict)

    def call(self, node: ast.AST) -> ast.Call:
        """Make the call of a function that nobody wrote: its entry, or a factory of a field."""
        known = self.made.get(id(node))
        if known is None:
            known = ast.Call(ast.Name("entry", ast.Load()), [], [])
            ast.copy_location(known, node)
            self.made[id(node)] = known
        return known


@dataclass(slots=True, eq=False)
class Knowledge:
    """What is known beforehand of a framework's library.

    `calls` maps the last part of a callee's name to what a call of it does; it gives None where it does not apply.
    `reads` maps attributes nobody wrote to their default in the library. `tracked` names are followed into whatever is
    computed from them. `interesting` names are worth a variant where an undecided condition decides them. `sinks` are
    the functions that start a run, each with what tells its config and writes from the call (None: it starts none).
    """

    calls: Mapping[str, Callable[[Any, Val, CallSite], Val | None]] = field(default_factory=dict)
    reads: Mapping[str, Data] = field(default_factory=dict)
    tracked: frozenset[str] = frozenset()
    interesting: frozenset[str] = frozenset()
    sinks: Mapping[str, Callable[[Any, Val, CallSite], tuple[Record | None, Iterable[Row]] | None]] = field(
        default_factory=dict
    )
    quiet: frozenset[str] = frozenset()
    """Methods that leave a config as it is, or do what the framework's own defaults say."""
    has: frozenset[str] = frozenset()
    """Attributes that the library's config classes have, where a class was not read."""
    own: frozenset[str] = frozenset()
    """Attributes that the library's own config classes alone have: none comes from a class that was not read."""
    outside: Callable[[Any, str, CallSite], Val | None] = lambda machine, dotted, site: None
    """What a call of a function gives that is in no source in reach, by its dotted name; None: unknown."""
    opaque: Callable[[str], bool] = lambda path: False
    """Says by its path that a module's functions are not followed: a library's own works, no config is made there."""
    begun: Callable[[Any, ClassVal], Iterable[tuple[str, Val]]] = lambda machine, cls: ()
    """What a new object of a class of the tree holds before its arguments do."""


class Machine(ABC):
    """One run. The mixins `Expressions`, `Calls` and `Statements` complete it."""

    def __init__(
        self,
        program: Program,
        caches: Caches,
        knowledge: Knowledge,
        decisions: Mapping[Site, bool],
        environment: Mapping[str, Data],
        argv: tuple[Leaf | Unknown, ...] | None = None,
    ) -> None:
        self.program = program
        self.caches = caches
        self.knowledge = knowledge
        self.decisions = decisions
        self.given = environment
        self.argv = argv
        self.environ = Map({}, rest="it is set in the environment of the launch")
        self.limit = MAX_STEPS
        self.steps = 0
        self.depth = 0
        self.order = 0
        self.stack: list[Func] = []
        self.journal: list[tuple[dict[Any, Any], Any, Any]] = []
        self.control: tuple[Dep, ...] = ()
        self.sinks: list[Sink] = []
        self.touched: dict[str, None] = {}
        self.searched: set[tuple[str, str]] = set()
        """Star imports that a name is being looked for in: they may lead round in a circle."""
        self.asked = 0
        """How often something was asked that another run may answer otherwise."""
        self.cut = False
        self.frame = Frame(Module("", None), {})  # type: ignore[arg-type]

    # What the mixins give.

    @abstractmethod
    def evaluate(self, node: ast.expr) -> Val:
        """Give an expression's value."""

    @abstractmethod
    def call(self, callee: Val, site: CallSite) -> Val:
        """Call a value."""

    @abstractmethod
    def call_function(self, function: Func, site: CallSite, receiver: Val | None = None) -> Val:
        """Call a function of the tree."""

    @abstractmethod
    def execute(self, body: Iterable[ast.stmt]) -> str:
        """Run statements; gives why they ended: an empty string, `return`, `raise`, `break` or `continue`."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Val, source: ast.expr | None = None) -> None:
        """Assign to a target of any form; `source` is the expression that gave the value."""

    @abstractmethod
    def set_attribute(self, base: Val, name: str, value: Val, uses: tuple[Origin, ...] = ()) -> None:
        """Write an attribute of a value."""

    # Bounds.

    def step(self) -> None:
        """Count one step; raises Exhausted beyond the bound."""
        self.steps += 1
        if self.steps > self.limit:
            raise Exhausted

    # Writes, all through the journal.

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Write into a frame, dict, list or object so that it can be taken back."""
        self.journal.append((table, key, table.get(key, MISSING)))
        table[key] = value

    def drop(self, table: dict[Any, Any], key: Any) -> None:
        """Delete so that it can be taken back."""
        if key in table:
            self.journal.append((table, key, table[key]))
            del table[key]

    def undo(self, mark: int) -> None:
        """Take back everything written since the journal had `mark` entries."""
        while len(self.journal) > mark:
            table, key, old = self.journal.pop()
            if old is MISSING:
                table.pop(key, None)
            else:
                table[key] = old

    def bind(self, name: str, value: Val) -> None:
        """Assign a name in the current frame."""
        if self.control:
            value = self.marked(value, self.control)
        frame = self.frame
        names = frame.module.names if name in frame.outer else frame.names
        self.put(names, name, value)

    def write(self, record: Record, name: str, value: Val, uses: tuple[Origin, ...] = ()) -> None:
        """Assign an attribute."""
        if not name or name[0] in "*?":
            return
        if self.control:
            value = self.marked(value, self.control)
        self.order += 1
        history = record.slots.get(name, ())
        self.put(record.slots, name, (*history[-MAX_HISTORY:], Slot(self.order, value, uses)))
        self.drop(record.slots, f"?{name}")  # what left it alone before has no part in what stands there now

    def taint(self, value: Val, reason: str) -> None:
        """Note that something unread may have changed any attribute of a config object."""
        if isinstance(value, Record):
            self.order += 1
            known = record_taints(value)
            self.put(value.slots, "*", (*known[-1:], Slot(self.order, Unknown(reason, value.origins))))

    def marked(self, value: Val, deps: tuple[Dep, ...]) -> Val:
        """Give a value that also remembers the parallel sizes it was computed from."""
        if not isinstance(value, Leaf):
            return value
        more = tuple(dep for dep in deps if dep not in value.deps)
        return replace(value, deps=(*value.deps, *more)[:MAX_ORIGINS]) if more else value

    # Origins.

    def origin(self, node: ast.AST) -> Origin:
        """Give a node's place in the file of the current frame."""
        known = self.caches.origins.get(id(node))
        if known is None:
            source = self.frame.module.source
            known = Origin(Kind.WRITTEN, source.text(node), source.span(node), self.caches.surface, self.frame.scope)
            self.caches.origins[id(node)] = known
        return known

    def use(self, node: ast.expr | None) -> tuple[Origin, ...]:
        """Give the place where a value is used, unless it is the literal itself."""
        if node is None or isinstance(node, ast.Constant):
            return ()
        known = self.caches.uses.get(id(node))
        if known is None:
            known = self.caches.uses[id(node)] = (self.origin(node),)
        return known

    def site(self, node: ast.AST) -> Site:
        """Give a condition as a site."""
        source = self.frame.module.source
        return Site(source.span(node), source.text(node))

    def computed(self, node: ast.AST, data: Data, *parts: Val) -> Leaf:
        """Make data computed by an expression from other values."""
        deps: list[Dep] = []
        for part in parts:
            if isinstance(part, Leaf) and part.deps:
                deps += [d for d in part.deps if d not in deps]
        return Leaf(data, self.behind(node, parts), tuple(deps[:MAX_ORIGINS]))

    def unknown(self, node: ast.AST, reason: str, *parts: Val) -> Unknown:
        """Make an unknown; the first unknown part gives the reason and the undecided condition."""
        origins = self.behind(node, parts)
        first = next((p for p in parts if isinstance(p, Unknown)), None)
        if first is not None:
            return Unknown(first.reason, origins, first.site)
        return Unknown(reason, origins)

    def behind(self, node: ast.AST, parts: Iterable[Val]) -> tuple[Origin, ...]:
        """Give an expression's place, then the places of the values in it; origins are told apart by identity."""
        origins = {id(first): first for first in (self.origin(node),)}
        for part in parts:
            for origin in origins_of(part):
                origins[id(origin)] = origin
        return tuple(origins.values())[:MAX_ORIGINS]


def record_taints(record: Record) -> tuple[Slot, ...]:
    """Give the moments at which something unread may have changed a config object."""
    return record.slots.get("*", ())  # type: ignore[no-any-return]


def same(left: Any, right: Any) -> bool:
    """Say whether two values are one, as far as a config goes."""
    if left is right:
        return True
    if isinstance(left, Leaf) and isinstance(right, Leaf):
        return type(left.data) is type(right.data) and bool(left.data == right.data)
    if isinstance(left, Seq) and isinstance(right, Seq):
        return len(left.items) == len(right.items) <= 64 and all(map(same, left.items, right.items))
    return False
