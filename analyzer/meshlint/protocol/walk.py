"""Walking one function once, forward: values in an environment, events and branches as items.

The environment maps paths (`x`, `self.rank`, `batch['tokens']`) to values; it is copied on a branch and joined after
it. Loop bodies are walked twice. A call of a function that can matter is summarised by the engine and becomes a
`CallItem`; everything else becomes a value that varies where its arguments vary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from meshlint.mesh.dims import ALL
from meshlint.mesh.gate import Expr, Origin, atoms, show, takes_turns
from meshlint.mesh.group import WORLD, Group
from meshlint.mesh.simulate import RECEIVES, SENDS
from meshlint.mesh.term import Gate, Site
from meshlint.models import names as known
from meshlint.models.entry import Entry
from meshlint.place import Span
from meshlint.protocol.apart import counted_by_all, selecting, selects, written_later
from meshlint.protocol.facts import Definition, Node, dotted
from meshlint.protocol.items import (
    AltItem,
    BlockItem,
    CallItem,
    ExitItem,
    GuardItem,
    HoleItem,
    Item,
    LoopItem,
    OpItem,
    WaitItem,
    filled,
    has_events,
    has_exits,
    leaves,
)
from meshlint.protocol.link import Target
from meshlint.protocol.values import (
    HOLLOW,
    ClassKey,
    Config,
    Domain,
    Func,
    Grp,
    Instance,
    Klass,
    Map,
    MeshOf,
    Module,
    OneOf,
    Phi,
    RanksOf,
    Selected,
    Seq,
    Share,
    Sized,
    Unordered,
    V,
    Work,
    facts_of,
    is_hollow,
)
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.protocol.summary import Engine

MAX_UNROLL = 8
"""Elements of a literal sequence over which a loop is unrolled."""

_SAME = frozenset(
    """item tolist cpu cuda to view reshape detach clone contiguous float int long bool half double flatten squeeze
    unsqueeze numpy npu requires_grad_ view_as expand type astype copy data narrow ravel bfloat16 xpu pin_memory
    """.split()  # noqa: SIM905
)
"""Methods that give the same value again, or a view of it."""

_VIEWS = frozenset(
    ("view", "view_as", "reshape", "flatten", "squeeze", "unsqueeze", "ravel", "narrow", "expand", "data")
)

_EQUAL_SIZES = ("broadcast", "all_reduce", "reduce")
"""Events whose ranks all bring as many elements."""

_COUNTS = frozenset(("numel", "size", "dim", "nelement", "element_size", "count"))


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a definition."""

    path: str
    definition: Definition
    env: dict[str, V]
    receiver: V | None = None
    owner: ClassKey | None = None
    parent: Frame | None = None
    returns: list[tuple[Expr, V, Node]] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    cleared: dict[str, int] = field(default_factory=dict)
    """Parameters whose value was reduced in place, and over which dims."""
    lazy: bool = False
    rough: bool = False
    """In the first round of a loop, which only shows what changes: loops inside go round once."""
    asked: set[str] = field(default_factory=set)
    parted: set[str] = field(default_factory=set)
    """Names below which something is bound (`self.rank`, `batch['tokens']`)."""
    joins: set[str] = field(default_factory=set)
    """Paths that may hold joined values."""
    contexts: dict[tuple[str, int], set[object]] = field(default_factory=dict)
    """How each function is called from here."""
    hollow: bool = False
    """Whether it has made a buffer that is not filled."""
    listed: list[int] = field(default_factory=list)
    """The value numbers of lists of ranks from which groups are made."""
    looked_for: list[tuple[V, int, int]] = field(default_factory=list)
    """What was looked for in which list (its value number), and the line."""
    serial: int = 0
    """Which activation it is: functions defined inside see its variables."""


class Walker:
    """The walk over one frame."""

    def __init__(self, engine: Engine, frame: Frame) -> None:
        self.engine = engine
        self.frame = frame
        self.line = frame.definition.line
        self.unused: Node | None = None
        """The call whose value nobody uses."""
        self.domain: Domain = engine.domain
        self.values = engine.domain.values

    # -- places --------------------------------------------------------------------------------------------------

    def site(self, line: int, column: int = 1, label: str = "", end: tuple[int, int] = (0, 0)) -> Site:
        """Make a site in this file."""
        span = Span(self.frame.path, line, column, *end) if end[0] else Span(self.frame.path, line, column)
        return Site(span, label)

    def call_site(self, node: Node) -> Site:
        """Make the site of a call."""
        return self.site(node[4], node[5], dotted(node[1]), (node[6], node[7]))

    def key(self, text: str, line: int = 0) -> str:
        """Make the key of an unknown value of this function."""
        return f"{self.frame.definition.qualname}:{text}" + (f"@{line}" if line else "")

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, body: Iterable[Node]) -> bool:
        """Walk statements; say whether control reaches the end."""
        return all(self.statement(node) for node in body)

    def statement(self, node: Node) -> bool:
        """Walk one statement; say whether control goes on after it."""
        self.engine.spend()
        self.line = node[1]
        method = _STATEMENTS.get(node[0])
        return True if method is None else method(self, node)

    def s_expr(self, node: Node) -> bool:
        """An expression for its effect. A call that never returns is an exit."""
        value = node[2]
        self.unused = value
        self.eval(value)
        if value[0] == "K" and dotted(value[1]) in ("sys.exit", "exit", "os._exit", "quit", "pytest.skip"):
            self.frame.items.append(ExitItem("raise", self.site(node[1])))
            return False
        return True

    def s_assign(self, node: Node) -> bool:
        """`a = b = value`."""
        value = self.eval(node[3])
        for target in node[2]:
            self.store(target, value)
        return True

    def s_aug(self, node: Node) -> bool:
        """`a += value`."""
        before, value = self.eval(node[2]), self.eval(node[4])
        self.store(node[2], replace(self.arithmetic(node[3], before, value), buf=before.buf))
        return True

    def s_if(self, node: Node) -> bool:
        """A branch; known conditions take one side."""
        test = self.eval(node[2])
        condition = self.domain.truth(test)
        return self.branch(condition, node[3], node[4], node[1], node[-1], "if", node[2])

    def branch(
        self,
        condition: Expr,
        then: tuple[Node, ...],
        otherwise: tuple[Node, ...],
        line: int,
        end: int,
        form: str,
        test: Node | None = None,
    ) -> bool:
        """Walk both sides of a branch and join them."""
        if condition.op == "lit":
            return self.block(then if condition.args[0] else otherwise)
        frame = self.frame
        outer, before = frame.items, frame.env
        first: list[Item] = []
        frame.items, frame.env = first, dict(before)
        frame.conditions.append(condition)
        self.refine(condition)
        if test is not None:
            self.assume(test, True)
        alive = self.block(then)
        after = frame.env
        second: list[Item] = []
        frame.items, frame.env = second, dict(before)
        frame.conditions[-1] = self.values.negate(condition)
        self.refine(frame.conditions[-1])
        if test is not None:
            self.assume(test, False)
        other = self.block(otherwise)
        frame.conditions.pop()
        frame.items = outer
        if alive and other:
            frame.env = self.joined(condition, after, frame.env)
        elif alive:
            frame.env = after
        if any(has_events(side) or has_exits(side) for side in (first, second)):
            gate = self.gate(line, end, form, first, second)
            if has_events(first) and has_events(second):
                self.engine.two_sided.add(gate.site.span)
            outer.append(AltItem(condition, first, second, gate))
        return alive or other

    def refine(self, condition: Expr) -> None:
        """Take the sides of joined values that a condition leaves."""
        frame = self.frame
        if not frame.joins:
            return
        known_here = facts_of(condition)
        for path in sorted(frame.joins):
            value = frame.env.get(path)
            if value is not None and value.phi is not None:
                frame.env[path] = self.domain.refined(value, known_here)

    def assume(self, test: Node, holds: bool) -> None:
        """Refine `x is None` and `x` on the side of a branch."""
        if test[0] == "U" and test[1] == "not":
            self.assume(test[2], not holds)
        elif test[0] == "B" and (test[1] == "and") is holds:
            for part in test[2]:
                self.assume(part, holds)
        elif test[0] == "Q" and len(test[1]) == 1 and test[3][0] == ("C", None):
            path = self.path(test[2])
            if path and path in self.frame.env:
                none = (test[1][0] in ("is", "==")) is holds
                value = self.frame.env[path]
                if none:
                    self.frame.env[path] = replace(self.domain.const(None), text=value.text)
                else:
                    self.frame.env[path] = replace(value, null=self.values.lit(False))

    def gate(self, line: int, end: int, form: str, then: list[Item], otherwise: list[Item]) -> Gate:
        """Make the gate of a branch: how a side leaves what encloses it."""
        first, second = leaves(then), leaves(otherwise)
        leave = first or second
        site = self.site(line, 1, form)
        if leave is None or (first is not None and second is not None):
            return Gate(site, form, "", True, end)
        return Gate(site, form, leave.kind, first is not None, end, leave.site)

    def joined(self, condition: Expr, first: dict[str, V], second: dict[str, V]) -> dict[str, V]:
        """Join two environments."""
        found: dict[str, V] = {}
        for name in first if len(first) >= len(second) else second:
            left, right = first.get(name), second.get(name)
            if left is right and left is not None:
                found[name] = left
            elif left is not None and right is not None:
                found[name] = self.domain.join(condition, left, right)
                self.frame.joins.add(name)
            elif "." not in name and "[" not in name:
                found[name] = left or right or self.domain.unknown(name)
        for name in second:
            if name not in found and name not in first and "." not in name and "[" not in name:
                found[name] = second[name]
        return found

    def s_for(self, node: Node) -> bool:
        """A loop over an iterable; literal sequences are unrolled."""
        sequence = self.eval(node[3])
        items = sequence.data.items if isinstance(sequence.data, Seq) else None
        if isinstance(sequence.data, Map) and not sequence.data.rest:
            items = tuple(self.domain.const(k) for k, _ in sequence.data.items)
        if items is not None and len(items) <= MAX_UNROLL and not _jumps(node[4]):
            for item in items:
                self.store(node[2], item)
                if not self.block(node[4]):
                    return False
            return True
        trip, element = self.iteration(node[3], sequence, node[1])
        form = "unordered" if isinstance(sequence.data, Unordered) else "loop"
        return self.loop(trip, node, node[4], node[5], element, node[2], form)

    def iteration(self, text: Node, sequence: V, line: int) -> tuple[Expr, V]:
        """Give the trip count of a loop and what its variable stands for."""
        key = self.key("loop", line)
        expr = sequence.expr
        if expr.op == "range" and expr.args[2].op == "lit" and expr.args[2].args[0] == 1:
            start, stop = expr.args[:2]
            trip = stop if start is self.values.lit(0) else self.values.arithmetic("-", stop, start)
            return trip, self.domain.of(self.domain.number(key + " variable"))
        if isinstance(sequence.data, Unordered):
            element = V(self.values.atom(key + " element", Origin.TURN), text=f"{sequence.text}[]")
            return self.domain.opaque(key + " count", (expr,), count=True), element
        if isinstance(sequence.data, Share):
            element = V(self.domain.opaque(key + " element", (expr,)), text=f"{sequence.text}[]")
            return self.count_of(sequence.data), element
        if isinstance(sequence.data, Seq):
            trip = self.values.lit(len(sequence.data.items))
            return trip, self.domain.unknown(key + " element", nonnull=True)
        trip = self.domain.opaque(key + " count", (expr,), count=True)
        element = V(self.domain.opaque(key + " element", (expr,)), text=f"{sequence.text}[]")
        if text[0] == "K" and dotted(text[1]) in ("enumerate", "zip"):
            element = self.domain.unknown(key + " element", nonnull=True)
        return trip, element

    def count_of(self, share: Share) -> Expr:
        """Give how many elements a share has: of a sequence of any length, unless that is seen to be evened out."""
        values = self.values
        whole = values.atom(f"len(#{share.whole})", Origin.CONFIG, count=True, weak=True)
        left = values.arithmetic("+", values.arithmetic("-", whole, share.start), values.arithmetic("-", share.step, 1))
        return values.arithmetic("max", 0, values.arithmetic("//", left, share.step))

    def steps_of(self, node: Node) -> Expr | None:
        """Give the rounds of `while left > stop: ...; left -= step`, where `left` is computed from coordinates."""
        test = node[2]
        if test[0] == "N":
            test = ("Q", (">",), test, (("C", 0),))
        if test[0] != "Q" or len(test[1]) != 1 or test[1][0] not in (">", "<") or test[2][0] != "N":
            return None
        down = test[1][0] == ">"
        step = _stepped(node[3], test[2], "-" if down else "+")
        if step is None:
            return None
        first, last = self.domain.numeric(self.eval(test[2])), self.domain.numeric(self.eval(test[3][0]))
        if not (_numeric(first) and _numeric(last)) or atoms_in(first) or atoms_in(last):
            return None
        if not first.var | last.var:
            return None
        values = self.values
        left = values.arithmetic("-", first, last) if down else values.arithmetic("-", last, first)
        rounds = values.arithmetic("//", values.arithmetic("+", left, step - 1), step) if step > 1 else left
        return values.arithmetic("max", 0, rounds)

    def s_while(self, node: Node) -> bool:
        """A loop with a condition."""
        counted = self.steps_of(node)
        if counted is not None:
            return self.loop(counted, node, node[3], node[4], None, None)
        condition = self.domain.truth(self.eval(node[2]))
        key = self.key("while", node[1])
        if condition.op == "lit" and not condition.args[0]:
            return True
        trip = self.domain.number(key) if condition.op == "lit" else self.domain.opaque(key, (condition,), count=True)
        return self.loop(trip, node, node[3], node[4], None, None)

    def loop(
        self,
        trip: Expr,
        node: Node,
        body: tuple[Node, ...],
        after: tuple[Node, ...],
        element: V | None,
        target: Any,
        form: str = "loop",
    ) -> bool:
        """Walk a loop body twice: once to see what changes, once for its items."""
        frame = self.frame
        line, end = node[1], node[-1]
        outer, before, returns = frame.items, dict(frame.env), len(frame.returns)
        frame.items = []
        rough, frame.rough = frame.rough, True
        self.turn(body, element, target, trip)
        frame.rough = rough
        del frame.returns[returns:]
        again = self.domain.number(self.key("round", line))
        later = self.values.compare("<", 0, again)
        if trip.var:
            later = self.domain.opaque(self.key("later", line), (trip,))
        frame.env = self.widened(later, frame.env, before)
        if rough:
            frame.items = outer
            return True
        inner: list[Item] = []
        frame.items = inner
        entry = dict(frame.env)
        self.turn(body, element, target, trip)
        frame.env = self.widened(later, frame.env, entry)
        frame.items = outer
        other: list[Item] = []
        if after:
            frame.items = other
            self.block(after)
            frame.items = outer
        if has_events(inner) or _escapes(inner):
            outer.append(LoopItem(trip, inner, Gate(self.site(line, 1, "loop"), form, "", True, end), other))
        return True

    def turn(self, body: tuple[Node, ...], element: V | None, target: Any, trip: Expr) -> None:
        """Walk a loop body once."""
        if target is not None and element is not None:
            self.store(target, element)
        self.frame.conditions.append(self.values.negate(self.values.compare("==", trip, 0)))
        self.block(body)
        self.frame.conditions.pop()

    def widened(self, later: Expr, new: dict[str, V], old: dict[str, V]) -> dict[str, V]:
        """Join the environment after a round with that before it."""
        found = dict(new)
        for name, value in old.items():
            other = new.get(name)
            if other is not None and other is not value:
                found[name] = self.domain.join(later, other, value, kept=False)
            elif other is None:
                found[name] = value
        return found

    def s_try(self, node: Node) -> bool:
        """The body with its handlers; `finally` is what every way out of them runs."""
        if not node[5]:
            return self.attempt(node)
        alive, body = self.apart(lambda: self.attempt(node))
        goes_on, tail = self.apart(lambda: self.block(node[5]))
        self.frame.items += [GuardItem(body, tail)] if has_events(tail) or has_exits(tail) else body
        return alive and goes_on

    def apart(self, walk: Callable[[], bool]) -> tuple[bool, list[Item]]:
        """Walk something with items of its own."""
        outer, self.frame.items = self.frame.items, []
        try:
            return walk(), self.frame.items
        finally:
            self.frame.items = outer

    def attempt(self, node: Node) -> bool:
        """The body of `try`, then each handler as an edge that any rank may take for itself.

        What one collective raises it raises on all of its ranks: then no handler counts.
        """
        frame = self.frame
        before, count = dict(frame.env), len(frame.items)
        alive = self.block(node[2])
        outer = frame.items
        alike = len(node[2]) == 1 and len(outer) == count + 1 and isinstance(outer[-1], OpItem)
        handlers: list[tuple[list[Item], bool, int]] = []
        after = frame.env
        for _, name, body, line in node[3]:
            frame.items, frame.env = [], dict(before)
            if name:
                frame.env[name] = self.domain.unknown(self.key("exception", line), nonnull=True)
            caught = self.block(body)
            handlers.append((frame.items, caught, line))
            if caught:
                condition = self.domain.number(self.key("raised", line))
                after = self.widened(self.values.compare("<", 0, condition), frame.env, after)
        frame.items, frame.env = outer, after
        if alive:
            alive = self.block(node[4])
        for items, _, line in handlers:
            leave = leaves(items)
            if not alike and (has_events(items) or (leave is not None and leave.kind != "raise")):
                raised = self.values.atom(self.key("exception", line), Origin.LOCAL)
                gate = Gate(self.site(line, 1, "except"), "except", "", True, node[-1])
                outer.append(AltItem(raised, items, [], gate))
        return alive or any(caught for _, caught, _ in handlers)

    def s_with(self, node: Node) -> bool:
        """Context managers: generators of the program around a hole, classes by __enter__ and __exit__."""
        frame = self.frame
        outer = frame.items
        exits: list[tuple[V, int]] = []
        holes: list[list[Item]] = []
        for expr, target in node[2]:
            made: list[Item] | None = None
            if expr[0] == "K":
                made = self.manager(expr)
            if made is not None:
                holes.append(made)
                value = self.domain.unknown(self.key("with", node[1]), nonnull=True)
            else:
                value = self.eval(expr)
                if isinstance(value.data, Instance):
                    self.method(value, "__enter__", node)
                    exits.append((value, node[1]))
            if target is not None:
                self.store(target, value)
        inner: list[Item] = []
        frame.items = inner
        alive = self.block(node[3])
        frame.items = []
        for value, _ in reversed(exits):
            self.method(value, "__exit__", node)
        if frame.items:
            inner = [GuardItem(inner, frame.items)]
        frame.items = outer
        for made in reversed(holes):
            inner = filled(made, inner)
        outer += inner
        return alive

    def manager(self, node: Node) -> list[Item] | None:
        """Give the items of a generator manager with its hole, if the call is one that can matter."""
        callee = self.eval(node[1])
        if not isinstance(callee.data, Func):
            return None
        definition = self.engine.linker.definition(callee.data.path, callee.data.index)
        if not _is_manager(definition) or not self.engine.reaches(callee.data.path, callee.data.index):
            return None
        args, kwargs = self.arguments(node)
        frame = self.engine.enter(callee.data, args, kwargs, self)
        if frame is None:
            return None
        site = self.call_site(node)
        return [BlockItem(_called(frame.items, self, site), site)]

    def method(self, value: V, name: str, node: Node) -> None:
        """Call a method of a known object for its events."""
        if not isinstance(value.data, Instance):
            return
        found = self.engine.linker.method(value.data.key, name)
        if found is not None and self.engine.reaches(found[0], found[1]):
            call: Node = ("K", ("A", ("X",), name), (), (), node[1], 1, node[1], 2)
            self.called(Func(found[0], found[1], value), [], {}, call)

    def s_return(self, node: Node) -> bool:
        """`return value`."""
        value = self.eval(node[2])
        condition = self.values.both(*self.frame.conditions)
        self.frame.returns.append((self.domain.small(condition), value, node))
        self.frame.items.append(ExitItem("return", self.site(node[1], 1, "return")))
        return False

    def s_raise(self, node: Node) -> bool:
        """`raise`: the rank does not go on."""
        self.eval(node[2])
        self.frame.items.append(ExitItem("raise", self.site(node[1], 1, "raise")))
        return False

    def s_break(self, node: Node) -> bool:
        """`break`."""
        self.frame.items.append(ExitItem("break", self.site(node[1], 1, "break")))
        return False

    def s_continue(self, node: Node) -> bool:
        """`continue`."""
        self.frame.items.append(ExitItem("continue", self.site(node[1], 1, "continue")))
        return False

    def s_assert(self, node: Node) -> bool:
        """`assert`: what goes on satisfies it."""
        self.eval(node[2])
        self.assume(node[2], True)
        return True

    def s_def(self, node: Node) -> bool:
        """A nested function is a value bound to this frame."""
        data = Func(self.frame.path, node[3], None, self.frame)
        definition = self.engine.linker.definition(self.frame.path, node[3])
        if definition.owner < 0:
            self.frame.env[node[2]] = V(self.values.atom(self.key(f"def {node[2]}"), Origin.UNKNOWN), data, self.no)
        return True

    def s_class(self, node: Node) -> bool:
        """A nested class."""
        key = (self.frame.path, node[3])
        self.frame.env[node[2]] = V(self.values.atom(f"class {key}", Origin.UNKNOWN), Klass(key), self.no)
        return True

    def s_import(self, node: Node) -> bool:
        """A local import."""
        if self.frame.definition.index:
            for row in node[2]:
                if row[0] != "*":
                    self.frame.env[row[0]] = self.target(self.engine.linker.imported(self.frame.path, row), row[0])
        return True

    def s_match(self, node: Node) -> bool:
        """`match` as a chain of branches."""
        subject = self.eval(node[2])
        return self.cases(subject, node[3], node[1], node[-1])

    def cases(self, subject: V, cases: tuple[Any, ...], line: int, end: int) -> bool:
        """Walk the cases of a match as `if`, `elif`, `else`."""
        if not cases:
            return True
        value, wild, body = cases[0]
        if wild:
            return self.block(body)
        if value is not None:
            condition = self.equal(subject, self.eval(value))
        else:
            condition = self.domain.opaque(self.key(f"case {len(cases)}", line), (subject.expr,))
        rest: Node = ("cases", line, subject, cases[1:], end)
        return self.branch(condition, body, (rest,), line, end, "if")

    def s_cases(self, node: Node) -> bool:
        """The rest of a match."""
        return self.cases(node[2], node[3], node[1], node[4])

    @property
    def no(self) -> Expr:
        """The literal False."""
        return self.values.lit(False)

    # -- storing -------------------------------------------------------------------------------------------------

    def path(self, node: Node) -> str:
        """Give the path of a place that can be stored to; empty where it has none."""
        if node[0] == "N":
            return str(node[1])
        if node[0] == "A":
            base = self.path(node[1])
            return f"{base}.{node[2]}" if base else ""
        if node[0] == "S" and node[2][0] == "C":
            base = self.path(node[1])
            return f"{base}[{node[2][1]!r}]" if base else ""
        return ""

    def store(self, target: Node, value: V) -> None:
        """Bind a target; what hung below the old value is forgotten."""
        if target[0] in ("T", "L"):
            phi = value.phi
            if value.data is None and phi is not None and phi.expr is value.expr and _unpacks(phi, len(target[1])):
                for place, part in enumerate(target[1]):
                    then, otherwise = phi.then.data.items[place], phi.otherwise.data.items[place]
                    self.store(part, self.domain.join(phi.condition, then, otherwise))
                return
            items = value.data.items if isinstance(value.data, Seq) else ()
            for place, part in enumerate(target[1]):
                fits = len(items) == len(target[1])
                element = items[place] if fits else self.part(value, place)
                self.store(part, element)
            return
        if target[0] == "*":
            self.store(target[1], self.part(value, 0))
            return
        path = self.path(target)
        env = self.frame.env
        if target[0] == "S" and self.frame.hollow:
            self.filled(self.eval(target[1]), [], {})
        if not path:
            return
        root = _root(path)
        if root in self.frame.parted:
            below = (path + ".", path + "[")
            for name in [n for n in env if n.startswith(below)]:
                del env[name]
        if value.buf and not value.label:
            value = replace(value, label="~" + path.rpartition(".")[2])
        self.bind(path, root, value)

    def bind(self, path: str, root: str, value: V) -> None:
        """Bind a path that begins with the name `root`."""
        if len(root) < len(path):
            self.frame.parted.add(root)
        if value.phi is not None:
            self.frame.joins.add(path)
        self.frame.env[path] = value

    def part(self, value: V, place: int) -> V:
        """Give an element of something that is not known by its elements."""
        expr = self.domain.opaque(f"{self.frame.definition.qualname}:#{value.expr.id}[{place}]", (value.expr,))
        return V(expr, text=f"{value.text}[{place}]")

    # -- expressions ---------------------------------------------------------------------------------------------

    def eval(self, node: Node) -> V:
        """Give the value of an expression, and leave its events behind."""
        return _EXPRESSIONS[node[0]](self, node)

    def e_const(self, node: Node) -> V:
        """A literal."""
        return self.domain.const(node[1])

    def e_name(self, node: Node) -> V:
        """A name: local, of an enclosing frame, of the module, or built in."""
        name = node[1]
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.env:
                return frame.env[name]
            if frame.lazy and name in frame.definition.locals:
                return self.lazily(frame, name)
            frame = frame.parent
        target = self.engine.linker.name(self.frame.path, name)
        if target is None:
            return self.domain.unknown(f"name {name}", text=name)
        return self.target(target, name)

    def lazily(self, frame: Frame, name: str) -> V:
        """Give a local of a function that is not walked: by its parameter or its only assignments."""
        if name in frame.asked:
            return self.domain.unknown(f"{frame.definition.qualname}:{name}", text=name)
        frame.asked.add(name)
        found = self.engine.assigned(frame, name)
        value: V | None = None
        for node in found:
            here = Walker(self.engine, frame).eval(node)
            if value is None:
                value = here
            else:
                either = self.values.atom(f"{frame.definition.qualname}:{name} which", Origin.UNKNOWN)
                value = self.domain.join(either, value, here)
        if value is None:
            value = self.domain.by_name(name, f"{frame.definition.qualname}:{name}", name)
        frame.env[name] = value
        return value

    def target(self, target: Target, text: str) -> V:
        """Give the value of a resolved name."""
        engine = self.engine
        if target.kind == "def":
            entry = engine.models.find(target.name)
            data: Any = Func(target.path, target.index)
            if entry is not None and entry.attribute:
                return self.modelled(entry, [], {}, None, text)
            return V(self.values.atom(target.name, Origin.UNKNOWN), data, self.no, text=target.name)
        if target.kind == "class":
            klass = Klass((target.path, target.index))
            return V(self.values.atom(target.name, Origin.UNKNOWN), klass, self.no, text=target.name)
        if target.kind == "var":
            return engine.variable(target)
        entry = engine.models.find(target.name)
        if entry is not None and entry.attribute:
            return self.modelled(entry, [], {}, None, text)
        return V(self.values.atom(target.name, Origin.UNKNOWN), Module(target), self.no, text=target.name)

    def e_attribute(self, node: Node) -> V:
        """`base.name`."""
        path = self.path(node)
        if path and path in self.frame.env:
            return self.frame.env[path]
        base = self.eval(node[1])
        return self.attribute(base, node[2])

    def attribute(self, base: V, name: str) -> V:
        """Read an attribute of a value."""
        data = base.data
        text = f"{base.text}.{name}"
        engine = self.engine
        if isinstance(data, Module):
            target = engine.linker.attribute(data.target, name)
            return self.target(target, text) if target is not None else self.domain.unknown(text, text=text)
        if isinstance(data, Instance):
            return self.member(base, data.key, name, text)
        if isinstance(data, Klass):
            return self.class_member(data.key, name, text)
        if isinstance(data, Config):
            entry = engine.models.find(text)
            if entry is not None and entry.attribute:
                return self.modelled(entry, [], {}, None, text)
            return self.domain.setting(f"{data.text}.{name}")
        if isinstance(data, Func) and name == "func" and data.args:
            return base
        if name in ("data", "T", "grad", "_local_tensor"):
            return replace(base, text=text, data=None)
        if name in ("shape", "dtype", "device", "ndim", "is_cuda"):
            return self.domain.of(self.domain.opaque(f"#{base.expr.id}.{name}", (base.expr,)), text=text)
        if isinstance(data, Grp) and name in ("WORLD",):
            return base
        entry = engine.models.find(text)
        if entry is not None and entry.attribute:
            return self.modelled(entry, [], {}, None, text)
        if base.expr.var:
            return V(self.domain.opaque(f"#{base.expr.id}.{name}", (base.expr,)), text=text)
        if name in known.CONFIG:
            return self.domain.by_name(name, text, text)
        return self.domain.by_name(name, text, text)

    def member(self, base: V, key: ClassKey, name: str, text: str) -> V:
        """Read an attribute of an object: property, method, or what its methods store."""
        engine = self.engine
        found = engine.linker.method(key, name)
        if found is not None:
            definition = engine.linker.definition(found[0], found[1])
            if _is_property(definition):
                return self.property(base, found, text)
            if _has_decorator(definition, "staticmethod"):
                receiver = None
            elif _has_decorator(definition, "classmethod"):
                receiver = V(base.expr, Klass(key), self.no)
            else:
                receiver = base
            data = Func(found[0], found[1], receiver)
            return V(
                self.values.atom(f"{engine.linker.class_name(key)}.{name}", Origin.UNKNOWN), data, self.no, text=text
            )
        return engine.attribute(key, name, base, text)

    def property(self, base: V, found: tuple[str, int, ClassKey], text: str) -> V:
        """Call a property."""
        definition = self.engine.linker.definition(found[0], found[1])
        call: Node = ("K", ("N", definition.name), (), (), definition.line, 1, definition.line, 2)
        value = self.called(Func(found[0], found[1], base), [], {}, call)
        return replace(value, text=text)

    def class_member(self, key: ClassKey, name: str, text: str) -> V:
        """Read an attribute of a class: method, nested value or class-level assignment."""
        linker = self.engine.linker
        found = linker.method(key, name)
        if found is not None:
            definition = linker.definition(found[0], found[1])
            receiver = None
            if _has_decorator(definition, "classmethod"):
                receiver = V(self.values.atom(f"class {key}", Origin.UNKNOWN), Klass(key), self.no)
            data = Func(found[0], found[1], receiver)
            full = f"{linker.class_name(key)}.{name}"
            return V(self.values.atom(full, Origin.UNKNOWN), data, self.no, text=full)
        return self.engine.class_value(key, name, text)

    def e_subscript(self, node: Node) -> V:
        """`base[index]`."""
        path = self.path(node)
        if path and path in self.frame.env:
            return self.frame.env[path]
        kept = self.keyed(node)
        if kept is not None:
            return kept
        base, index = self.eval(node[1]), self.eval(node[2])
        found = self.element(base, index)
        share = self.share(base, index, node[2])
        if share is not None:
            return replace(found, data=share, null=self.no)
        if selects(node[2]) and self.given(base):
            return replace(found, data=Selected(self.path(node[1])))
        return found

    def given(self, value: V) -> bool:
        """Say whether a value is data as the function was given it: an argument or an element of a batch."""
        expr = value.expr
        if expr.op != "atom" or value.data is not None or "gather" in value.text or "global" in value.text:
            return False
        names = {f"{self.frame.definition.qualname}:{param.name}" for param in self.frame.definition.params}
        return expr.args[0] in names or (expr.args[1] is Origin.CONTRACT and bool(value.label))

    def how_many(self, key: str, value: V, node: Node) -> V | None:
        """Give a number of elements that differs between ranks; None where nothing says so."""
        path = self.path(node)
        if not isinstance(value.data, Selected):
            return None
        counted = counted_by_all(self.frame.definition.body, path)
        atom = self.values.atom(key, Origin.APART if counted else Origin.LOCAL, var=ALL, count=True)
        return self.domain.of(atom, text=key)

    def share(self, base: V, index: V, node: Node) -> Share | None:
        """Give the share of a slice `[start::step]` whose start differs between ranks, if nothing evens shares out."""
        if node[0] != "T" or len(node[1]) != 4 or node[1][3] != ("X",) or not isinstance(index.data, Seq):
            return None
        start, stop, step = (self.domain.numeric(item) for item in index.data.items[:3])
        known_sides = _numeric(start) and _numeric(step) and not atoms_in(start) and not atoms_in(step)
        if not known_sides or not start.var or step.var or not _is_none(V(stop)) or isinstance(base.data, Seq):
            return None
        evened = any(_rounds_up(part) for part in self.frame.definition.body)
        return None if evened else Share(start, step, base.expr.id)

    def keyed(self, node: Node) -> V | None:
        """Read a constant key of a dict that a class holds, if some method stores under that key."""
        held, key = node[1], node[2]
        if held[0] != "A" or key[0] != "C" or not isinstance(key[1], str):
            return None
        owner = self.eval(held[1])
        if not isinstance(owner.data, Klass | Instance):
            return None
        return self.engine.keyed(owner.data.key, f"{held[2]}[{key[1]!r}]", owner)

    def element(self, base: V, index: V) -> V:
        """Read an element."""
        data = base.data
        key = index.expr.args[0] if index.expr.op == "lit" else None
        text = f"{base.text}[{key!r}]"
        if isinstance(data, Map) and key is not None:
            found = data.get(key)
            if found is not None:
                return found
        if isinstance(data, Seq) and isinstance(key, int) and -len(data.items) <= key < len(data.items):
            return data.items[key]
        if isinstance(data, MeshOf):
            return self.mesh_slice(data, index, text)
        if isinstance(data, Grp):
            return base
        if isinstance(key, str):
            expr = self.values.atom(f"batch {key!r}", Origin.CONTRACT)
            if base.expr.var:
                expr = self.domain.opaque(f"#{base.expr.id}[{key!r}]", (base.expr,))
            if isinstance(data, Config):
                return self.domain.setting(f"{data.text}.{key}")
            return V(expr, label=key, text=text, null=None)
        return V(
            self.domain.opaque(f"#{base.expr.id}[#{index.expr.id}]", (base.expr, index.expr)),
            label=base.label,
            buf=base.buf,
            text=text,
        )

    def mesh_slice(self, data: MeshOf, index: V, text: str) -> V:
        """`mesh["tp"]`, `mesh["dp", "cp"]`."""
        parts = index.data.items if isinstance(index.data, Seq) else (index,)
        names = [p.expr.args[0] for p in parts if p.expr.op == "lit" and isinstance(p.expr.args[0], str)]
        mask, weak = self.mesh_dims(names)
        if not mask:
            return self.domain.unknown(text, text=text)
        return self.domain.of(self.values.atom(text, Origin.UNKNOWN), MeshOf(mask, weak), text)

    def mesh_dims(self, names: list[str]) -> tuple[int, bool]:
        """Give the dims of mesh dimension names."""
        mask = 0
        for name in names:
            dims = dict(known.MESH_DIMS).get(name)
            if dims is None:
                return 0, True
            mask |= self.domain.mask(dims)
        return mask, False

    def e_bool(self, node: Node) -> V:
        """`and`, `or`: events of later operands happen on one side only."""
        frame = self.frame
        first = self.eval(node[2][0])
        values, parts = [first], [self.domain.truth(first)]
        for operand in node[2][1:]:
            so_far = self.values.both(*parts) if node[1] == "and" else self.values.either(*parts)
            if so_far.op == "lit" and bool(so_far.args[0]) is (node[1] == "or"):
                break
            outer = frame.items
            frame.items = []
            value = self.eval(operand)
            inner, frame.items = frame.items, outer
            if has_events(inner):
                condition = so_far if node[1] == "and" else self.values.negate(so_far)
                line = _line(operand) or frame.definition.line
                outer.append(AltItem(condition, inner, [], Gate(self.site(line, 1, node[1]), "and", "", True, line)))
            values.append(value)
            parts.append(self.domain.truth(value))
        joined = self.values.both(*parts) if node[1] == "and" else self.values.either(*parts)
        result = self.domain.of(self.domain.small(joined))
        if node[1] == "or" and len(values) == 2:
            return self.domain.join(parts[0], values[0], values[1])
        return result

    def e_unary(self, node: Node) -> V:
        """`not x`, `-x`."""
        value = self.eval(node[2])
        if node[1] == "not":
            return self.domain.of(self.values.negate(self.domain.truth(value)))
        if node[1] == "-":
            return self.domain.of(self.values.arithmetic("-", 0, self.domain.numeric(value)))
        return self.domain.of(self.domain.opaque(f"{node[1]}#{value.expr.id}", (value.expr,)))

    def e_binary(self, node: Node) -> V:
        """Arithmetic."""
        return self.arithmetic(node[1], self.eval(node[2]), self.eval(node[3]))

    def arithmetic(self, op: str, left: V, right: V) -> V:
        """Compute `left op right`: on the mesh where it can be, else as an unknown function."""
        if op == "+" and isinstance(left.data, Seq) and isinstance(right.data, Seq):
            return self.domain.of(left.expr, Seq((*left.data.items, *right.data.items)))
        if op in ("+", "-", "*", "//", "%") and not left.label and not right.label:
            first, second = self.domain.numeric(left), self.domain.numeric(right)
            if _numeric(first) and _numeric(second):
                return self.domain.of(self.domain.small(self.values.arithmetic(op, first, second)))
        expr = self.domain.opaque(f"#{left.expr.id}{op}#{right.expr.id}", (left.expr, right.expr))
        return replace(self.domain.of(expr), label=left.label)

    def e_compare(self, node: Node) -> V:
        """Comparisons; `x is None`, `"key" in batch`, `rank in ranks`."""
        left = self.eval(node[2])
        parts: list[Expr] = []
        for op, operand in zip(node[1], node[3], strict=True):
            right = self.eval(operand)
            stored = self.stored_key(left, operand) if op in ("in", "not in") else None
            if stored is not None:
                parts.append(stored if op == "in" else self.values.negate(stored))
            else:
                parts.append(self.compared(op, left, right))
            left = right
        return self.domain.of(self.values.both(*parts))

    def stored_key(self, key: V, held: Node) -> Expr | None:
        """Give whether a dict that a class holds has a key under which its methods store: any value, alike for all."""
        if held[0] != "A" or key.expr.op != "lit" or not isinstance(key.expr.args[0], str):
            return None
        owner = self.eval(held[1])
        if not isinstance(owner.data, Klass | Instance):
            return None
        name = f"{held[2]}[{key.expr.args[0]!r}]"
        if self.engine.keyed(owner.data.key, name, owner) is None:
            return None
        return self.values.atom(f"{self.engine.linker.class_name(owner.data.key)}.{name} is set", Origin.CONFIG)

    def compared(self, op: str, left: V, right: V) -> Expr:
        """Give `left op right`."""
        if op in ("is", "==") and _is_none(right):
            return self.domain.is_none(left)
        if op in ("is not", "!=") and _is_none(right):
            return self.values.negate(self.domain.is_none(left))
        if op in ("in", "not in"):
            test = self.contains(left, right)
            return self.values.negate(test) if op == "not in" else test
        if op in ("is", "=="):
            return self.equal(left, right)
        if op in ("is not", "!="):
            return self.values.negate(self.equal(left, right))
        first, second = self.domain.numeric(left), self.domain.numeric(right)
        if _numeric(first) and _numeric(second):
            return self.values.compare(op, first, second)
        return self.domain.opaque(f"#{left.expr.id}{op}#{right.expr.id}", (left.expr, right.expr), close=True)

    def equal(self, left: V, right: V) -> Expr:
        """Give `left == right`."""
        first, second = left.expr, right.expr
        if first.op == "lit" and second.op == "lit":
            return self.values.lit(first.args[0] == second.args[0])
        for one, other in ((first, second), (second, first)):
            if other.op == "lit" and isinstance(other.args[0], bool) and _boolean(one):
                return one if other.args[0] else self.values.negate(one)
            if other.op == "lit" and isinstance(other.args[0], str):
                if one.op == "ite":
                    condition, then, otherwise = one.args
                    return self.values.choose(
                        condition, self.equal(V(then), V(other)), self.equal(V(otherwise), V(other))
                    )
                return self.domain.opaque(f"#{one.id}=={other.args[0]!r}", (one,))
        numeric = self.domain.numeric(left), self.domain.numeric(right)
        if _numeric(numeric[0]) and _numeric(numeric[1]):
            return self.values.compare("==", *numeric)
        low, high = sorted((first.id, second.id))
        return self.domain.opaque(f"#{low}==#{high}", (first, second), close=True)

    def contains(self, left: V, right: V) -> Expr:
        """Give `left in right`."""
        if isinstance(right.data, RanksOf) and left.expr is self.values.rank():
            return self.values.member(right.data.group)
        if isinstance(right.data, Seq):
            self.frame.looked_for.append((left, right.expr.id, self.line))
            return self.values.either(*(self.equal(left, item) for item in right.data.items))
        if left.expr.op == "lit" and isinstance(left.expr.args[0], str):
            if isinstance(right.data, Map) and right.data.get(left.expr.args[0]) is not None:
                return self.values.lit(True)
            if isinstance(right.data, Map) and not right.data.rest:
                return self.values.lit(False)
            if right.expr.var:
                return self.domain.opaque(f"{left.expr.args[0]!r} in #{right.expr.id}", (right.expr,))
            present = self.values.atom(f"batch {left.expr.args[0]!r} is None", Origin.CONTRACT)
            return self.values.negate(present)
        if right.expr.op in ("list", "range", "for"):
            self.frame.looked_for.append((left, right.expr.id, self.line))
            return self.values.compare("in", self.domain.numeric(left), right.expr)
        return self.domain.opaque(f"#{left.expr.id} in #{right.expr.id}", (left.expr, right.expr))

    def e_ternary(self, node: Node) -> V:
        """`a if c else b`."""
        condition = self.domain.truth(self.eval(node[1]))
        if condition.op == "lit":
            return self.eval(node[2] if condition.args[0] else node[3])
        frame = self.frame
        outer = frame.items
        frame.items = []
        first = self.eval(node[2])
        then, frame.items = frame.items, []
        second = self.eval(node[3])
        otherwise, frame.items = frame.items, outer
        if has_events(then) or has_events(otherwise):
            line = _line(node) or frame.definition.line
            outer.append(AltItem(condition, then, otherwise, self.gate(line, line, "ternary", [], [])))
        return self.domain.join(condition, first, second)

    def e_sequence(self, node: Node) -> V:
        """A list, tuple or set display."""
        items: list[V] = []
        known_items = True
        for element in node[1]:
            if element[0] == "*":
                value = self.eval(element[1])
                if isinstance(value.data, Seq):
                    items += value.data.items
                else:
                    items.append(value)
                    known_items = False
            else:
                items.append(self.eval(element))
        exprs = tuple(v.expr for v in items)
        if all(_numeric(e) for e in exprs):
            expr = self.values.ranks(exprs)
        else:
            expr = self.domain.opaque("list" + ",".join(f"#{e.id}" for e in exprs[:12]), exprs)
        self.domain.fresh += 1
        buf = items[0].buf if len(items) == 1 else 0
        return V(expr, Seq(tuple(items)) if known_items else None, self.no, buf=buf)

    def e_dict(self, node: Node) -> V:
        """A dict display."""
        items: list[tuple[Any, V]] = []
        rest = False
        for key, value in zip(node[1], node[2], strict=True):
            here = self.eval(value)
            if key is None:
                if isinstance(here.data, Map):
                    items += here.data.items
                    rest = rest or here.data.rest
                else:
                    rest = True
                continue
            name = self.eval(key)
            if name.expr.op == "lit":
                items.append((name.expr.args[0], replace(here, label=str(name.expr.args[0]))))
            else:
                rest = True
        exprs = tuple(v.expr for _, v in items)
        return V(
            self.domain.opaque("dict" + ",".join(f"#{e.id}" for e in exprs[:12]), exprs),
            Map(tuple(items), rest),
            self.no,
        )

    def e_lambda(self, node: Node) -> V:
        """A lambda bound to this frame."""
        data = Func(self.frame.path, node[1], None, self.frame)
        return V(self.values.atom(self.key(f"lambda {node[1]}"), Origin.UNKNOWN), data, self.no)

    def e_comprehension(self, node: Node) -> V:
        """A comprehension: its element is evaluated once, in a loop over the first iterable."""
        frame = self.frame
        before = dict(frame.env)
        sequence = self.eval(node[3][0][1])
        outer, frame.items = frame.items, []
        trip, element = self.iteration(node[3][0][1], sequence, node[4])
        parts = [sequence.expr]
        for place, (target, iterable, conditions) in enumerate(node[3]):
            self.store(target, element if place == 0 else self.part(self.eval(iterable), 0))
            parts += [self.domain.truth(self.eval(c)) for c in conditions]
        value = self.eval(node[2])
        inner, frame.items = frame.items, outer
        frame.env = before
        if has_events(inner):
            outer.append(LoopItem(trip, inner, Gate(self.site(node[4], 1, "loop"), "loop", "", True, node[4])))
        if sequence.expr.op == "range" and node[1] == "list" and value.expr.var == 0 and len(node[3]) == 1:
            pass
        expr = self.domain.opaque(self.key("comprehension", node[4]) + f"#{value.expr.id}", (*parts, value.expr))
        return self.domain.of(expr)

    def e_star(self, node: Node) -> V:
        """`*x` in a call."""
        return self.eval(node[1])

    def e_walrus(self, node: Node) -> V:
        """`name := value`."""
        value = self.eval(node[2])
        self.frame.env[node[1]] = value
        return value

    def e_yield(self, node: Node) -> V:
        """`yield`: the hole of a context manager."""
        if node[1] is not None:
            self.eval(node[1])
        self.frame.items.append(HoleItem())
        return self.domain.unknown(self.key("yield"))

    def e_fstring(self, node: Node) -> V:
        """An f-string."""
        exprs = tuple(self.eval(part).expr for part in node[1])
        return self.domain.of(self.domain.opaque("f" + ",".join(f"#{e.id}" for e in exprs), exprs))

    def e_unknown(self, node: Node) -> V:
        """Anything else."""
        return self.domain.unknown(self.key("?"), nonnull=True)

    # -- calls ---------------------------------------------------------------------------------------------------

    def arguments(self, node: Node) -> tuple[list[V], dict[str, V]]:
        """Evaluate the arguments of a call; spread ones that are not known end the positional list."""
        args: list[V] = []
        for argument in node[2]:
            value = self.eval(argument)
            if argument[0] == "*":
                args += value.data.items if isinstance(value.data, Seq) else ()
            else:
                args.append(value)
        kwargs: dict[str, V] = {}
        for name, argument in node[3]:
            value = self.eval(argument)
            if name is not None:
                kwargs[name] = value
            elif isinstance(value.data, Map):
                kwargs.update({str(k): v for k, v in value.data.items})
        return args, kwargs

    def e_call(self, node: Node) -> V:
        """A call: by model, by definition, by what a method of that name does, else unknown."""
        callee_node = node[1]
        base: V | None = None
        if callee_node[0] == "N" and callee_node[1] == "super" and not node[2]:
            return V(self.values.atom("super", Origin.UNKNOWN), ("super",), self.no)
        if callee_node[0] == "A":
            path = self.path(callee_node)
            if path and path in self.frame.env:
                callee = self.frame.env[path]
            else:
                base = self.eval(callee_node[1])
                if base.data == ("super",):
                    return self.super_call(callee_node[2], node)
                special = self.special(base, callee_node[2], node)
                if special is not None:
                    if self.frame.hollow:
                        self.filled(base, [], {})
                    return special
                callee = self.attribute(base, callee_node[2])
        else:
            callee = self.eval(callee_node)
        args, kwargs = self.arguments(node)
        result = self.apply(callee, base, args, kwargs, node)
        if self.frame.hollow:
            self.filled(base, args, kwargs)
        return result

    def filled(self, base: V | None, args: list[V], kwargs: dict[str, V]) -> None:
        """Take buffers that a call is given, or that it is a method of, as filled from here on."""
        bufs = {v.buf for v in (base, *args, *kwargs.values()) if v is not None and v.buf}
        for name, value in self.frame.env.items() if bufs else ():
            hollow = [atom for atom in atoms(value.expr) if is_hollow(atom)] if value.buf in bufs else []
            if hollow:
                full = {a.id: self.values.atom(a.args[0].removeprefix(HOLLOW), Origin.UNKNOWN) for a in hollow}
                self.frame.env[name] = replace(value, expr=self.values.rebuilt(value.expr, full), phi=None)

    def super_call(self, name: str, node: Node) -> V:
        """`super().method(...)`."""
        args, kwargs = self.arguments(node)
        frame: Frame | None = self.frame
        while frame is not None and frame.owner is None:
            frame = frame.parent
        if frame is None or frame.owner is None or frame.receiver is None:
            return self.domain.unknown(self.key(f"super.{name}", node[4]))
        linker = self.engine.linker
        order = linker.mro(frame.receiver.data.key if isinstance(frame.receiver.data, Instance) else frame.owner)
        after = order[order.index(frame.owner) + 1 :] if frame.owner in order else ()
        for ancestor in after:
            index = dict(linker.klass(ancestor).methods).get(name)
            if index is not None:
                return self.called(Func(ancestor[0], index, frame.receiver), args, kwargs, node)
        return self.domain.unknown(self.key(f"super.{name}", node[4]))

    def apply(self, callee: V, base: V | None, args: list[V], kwargs: dict[str, V], node: Node) -> V:
        """Call a value."""
        data, text = callee.data, callee.text
        if isinstance(data, Func):
            entry = self.engine.model_of(data)
            if entry is not None:
                return self.modelled(entry, args, kwargs, node, text)
            return self.called(data, args, kwargs, node)
        if isinstance(data, Klass):
            return self.construct(data, args, kwargs, node)
        if isinstance(data, Instance):
            for name in ("__call__", "forward"):
                found = self.engine.linker.method(data.key, name)
                if found is not None:
                    return self.called(Func(found[0], found[1], callee), args, kwargs, node)
        name = node[1][2] if node[1][0] == "A" else node[1][1] if node[1][0] == "N" else ""
        if selecting(name):
            whole = base if base is not None and not isinstance(base.data, Module) else args[0] if args else None
            if whole is not None and self.given(whole):
                made = self.pure(text or name, args, kwargs, base, node)
                return replace(made, data=Selected(whole.text), null=self.no)
        if isinstance(data, Module) or not isinstance(data, Grp):
            entry = self.engine.models.find(data.target.name if isinstance(data, Module) else text or name)
            if entry is not None:
                return self.modelled(entry, args, kwargs, node, text or name)
        if node[1][0] == "N":
            built = self.builtin(name, args, kwargs, node)
            if built is not None:
                return built
        if isinstance(data, Module):
            library = self.library(data.target.name, args, kwargs, node)
            if library is not None:
                return library
        if base is not None and not isinstance(base.data, Module | Config):
            weak = self.engine.weakly(name)
            if weak is not None:
                return self.called(Func(weak[0], weak[1], None, weak=True), [base, *args], kwargs, node)
        return self.pure(text or name, args, kwargs, base, node)

    def pure(self, text: str, args: list[V], kwargs: dict[str, V], base: V | None, node: Node) -> V:
        """Give the value of an unknown function: it varies where its arguments vary."""
        parts = [v.expr for v in (*args, *kwargs.values())]
        if base is not None:
            parts.append(base.expr)
        key = f"{text}({','.join(f'#{e.id}' for e in parts[:8])})"
        return V(self.domain.opaque(key, tuple(parts)), text=f"{text}()")

    def construct(self, klass: Klass, args: list[V], kwargs: dict[str, V], node: Node) -> V:
        """Make an object; a constructor that can matter is walked."""
        linker = self.engine.linker
        name = linker.class_name(klass.key)
        entry = self.engine.models.find(name)
        if entry is not None and entry.kind in ("mesh", "object", "manager"):
            return self.modelled(entry, args, kwargs, node, name)
        made = V(
            self.values.atom(f"{name}@{self.frame.path}:{node[4]}:{node[5]}", Origin.UNKNOWN),
            Instance(klass.key),
            self.no,
        )
        made = replace(made, text=name)
        found = linker.method(klass.key, "__init__")
        if found is not None and self.engine.reaches(found[0], found[1]):
            self.called(Func(found[0], found[1], made), args, kwargs, node)
        return made

    def called(self, func: Func, args: list[V], kwargs: dict[str, V], node: Node) -> V:
        """Call a function of the program: its term at this site, its value here."""
        args = [*func.args, *args]
        kwargs = {**dict(func.kwargs), **kwargs}
        idle = node is self.unused and func.receiver is None and not self.engine.acts(func, args, kwargs)
        outcome = None if idle else self.engine.call(func, args, kwargs, self)
        if outcome is None:
            return self.pure(f"{func.path}:{func.index}", args, kwargs, func.receiver, node)
        self.engine.place(outcome)
        site = self.call_site(node)
        if outcome.gate is not None:
            gate = Gate(self.site(node[4], node[5], "decorator"), "decorator", "", True, node[6])
            if not outcome.is_nil:
                self.frame.items.append(AltItem(outcome.gate, [CallItem(outcome.term, site)], [], gate))
        elif not outcome.is_nil:
            self.frame.items.append(CallItem(outcome.term, site))
        self.effects(func, outcome.cleared, node)
        if func.receiver is not None and node[1][0] == "A":
            path = self.path(node[1][1])
            if path and outcome.stores:
                for name, value in outcome.stores.items():
                    self.store(("A", node[1][1], name), value)
        return outcome.value

    def effects(self, func: Func, cleared: dict[str, int], node: Node) -> None:
        """Clear the arguments that a callee reduced in place."""
        if not cleared:
            return
        definition = self.engine.linker.definition(func.path, func.index)
        names = [p.name for p in definition.params if p.kind == "pos"]
        if func.receiver is not None:
            names = names[1:]
        bound = dict(zip(names[len(func.args) :], node[2], strict=False))
        bound |= {k: v for k, v in node[3] if k is not None}
        for name, dims in cleared.items():
            if name in bound:
                self.clear(bound[name], dims, node)

    # -- models --------------------------------------------------------------------------------------------------

    def modelled(self, entry: Entry, args: list[V], kwargs: dict[str, V], node: Node | None, text: str) -> V:
        """Apply a library model."""
        given = _argument(entry.group, args, kwargs)
        if given is not None and isinstance(given.data, OneOf):
            return self.modelled_each(entry, given, args, kwargs, node, text)
        group, mask = self.entry_group(entry, args, kwargs)
        values = self.values
        kind = entry.kind
        if kind == "op":
            if self.makes_none(entry, kwargs, node):
                return self.domain.unknown(self.key(text), nonnull=True, text=f"{text}()")
            return self.event(entry, group, args, kwargs, node, text)
        if kind in ("rank", "size", "first", "last", "source", "ranks", "member", "group") and group is None:
            return self.domain.unknown(self.key(text), text=text)
        if kind == "rank" and group is not None:
            known_only = entry.weak and not group.unknown
            made = values.coord(mask, weak=True) if known_only else values.group_rank(group)
            return self.domain.of(made, text=text)
        if kind == "size" and group is not None:
            return self.domain.of(values.size(group), text=text)
        if kind == "group" and group is not None:
            return V(values.atom(f"group {group.name}", Origin.UNKNOWN), Grp(group), self.no, text=text)
        if kind in ("first", "last") and group is not None:
            if group.lists is not None or group.members is not None or group.unknown:
                place = values.group_rank(group)
                last = values.arithmetic("-", values.size(group), 1)
                return self.domain.of(values.compare("==", place, 0 if kind == "first" else last), text=text)
            test = values.first if kind == "first" else values.last
            return self.domain.of(test(mask, weak=entry.weak), text=text)
        if kind == "yes":
            return self.domain.const(True)
        if kind == "unordered":
            return self.domain.of(values.atom(text, Origin.UNKNOWN), Unordered(), text)
        if kind == "ranks" and group is not None:
            return self.domain.of(values.atom(f"ranks of #{mask} {text}", Origin.UNKNOWN), RanksOf(group), text)
        if kind == "member" and group is not None and not group.unknown:
            return self.domain.of(values.member(group), text=text)
        if kind == "source" and group is not None:
            if entry.place == "argument":
                rank = args[1].expr if len(args) > 1 else values.lit(0)
                return self.domain.of(values.global_rank(group, rank), text=text)
            index = values.lit(0) if entry.place == "first" else values.arithmetic("-", values.size(group), 1)
            return self.domain.of(values.global_rank(group, index), text=text)
        if kind == "local":
            return self.local(entry, node, text)
        if kind == "mesh":
            if entry.op and group is not None:
                self.event(entry, group, args, kwargs, node, text)
            return self.mesh(args, kwargs, text)
        if kind == "config":
            return V(values.atom(text, Origin.CONFIG), Config(text.rpartition(".")[2]), self.no, text=text)
        if kind == "unwrap" and args:
            return args[0]
        if kind == "object":
            return self.domain.unknown(text, nonnull=True, text=text)
        return self.domain.unknown(f"{text}()", text=f"{text}()")

    def local(self, entry: Entry, node: Node | None, text: str) -> V:
        """Give what a rank finds for itself: a file, a clock, or an attribute that only some ranks along dims have."""
        values = self.values
        if entry.dims:
            none = values.atom(f"{text} is None", Origin.APART, var=self.domain.mask(entry.dims))
            return V(values.atom(text, Origin.UNKNOWN), None, none, text=text)
        line = node[4] if node is not None else 0
        written = node is not None and node[2] and written_later(self.frame.definition.body, node[2][0], line)
        atom = values.atom(self.key(text, line), Origin.APART if written or entry.differs else Origin.LOCAL, var=ALL)
        return self.domain.of(atom, text=text)

    def modelled_each(
        self, entry: Entry, given: V, args: list[V], kwargs: dict[str, V], node: Node | None, text: str
    ) -> V:
        """Apply a model whose group is one of two: an event on the one or on the other."""
        frame, way = self.frame, given.data
        outer = frame.items
        sides: list[list[Item]] = []
        results: list[V] = []
        for data in (way.then, way.otherwise):
            frame.items = []
            one = replace(given, data=data)
            results.append(
                self.modelled(
                    entry,
                    [one if arg is given else arg for arg in args],
                    {name: one if arg is given else arg for name, arg in kwargs.items()},
                    node,
                    text,
                )
            )
            sides.append(frame.items)
        frame.items = outer
        if sides[0] or sides[1]:
            line = node[4] if node is not None else frame.definition.line
            gate = Gate(self.site(line, 1, "which group"), "ternary", "", True, line)
            outer.append(AltItem(way.condition, sides[0], sides[1], gate))
        return self.domain.join(way.condition, results[0], results[1])

    def makes_none(self, entry: Entry, kwargs: dict[str, V], node: Node | None) -> bool:
        """Say whether a modelled event is none here: switched off, or of a model that is wrapped only later on."""
        off = kwargs.get(entry.off) if entry.off else None
        if off is not None and off.expr.op == "lit" and off.expr.args[0]:
            return True
        if entry.op != "state_dict" or not entry.weak or node is None or not node[2]:
            return False
        return _wrapped_after(self.frame.definition.body, node[2][0], node[4])

    def mesh(self, args: list[V], kwargs: dict[str, V], text: str) -> V:
        """`init_device_mesh(...)` with its names."""
        names = kwargs.get("mesh_dim_names")
        found: list[str] = []
        if names is not None and isinstance(names.data, Seq):
            found = [v.expr.args[0] for v in names.data.items if v.expr.op == "lit"]
        mask, _ = self.mesh_dims([n for n in found if isinstance(n, str)]) if found else (ALL, True)
        return self.domain.of(
            self.values.atom(f"mesh {text}", Origin.UNKNOWN), MeshOf(ALL if mask == 0 else mask), text
        )

    def entry_group(self, entry: Entry, args: list[V], kwargs: dict[str, V]) -> tuple[Group | None, int]:
        """Give the group an entry speaks of, and its mask; None where the argument is not known."""
        given = _argument(entry.group, args, kwargs)
        if given is not None and not _is_none(given):
            if isinstance(given.data, Grp):
                return given.data.group, given.data.group.dims
            if isinstance(given.data, MeshOf):
                group = Group(given.data.dims, weak=given.data.weak)
                return group, group.dims
            made = self.domain.group_of(given)
            return (None, 0) if made is None else (made, made.dims)
        if not entry.dims:
            return (WORLD, ALL) if given is not None or entry.group != (-1, "") else (None, 0)
        mask = self.domain.mask(entry.dims)
        for keyword, position, dims in entry.extra:
            flag = _argument((position, keyword), args, kwargs)
            if flag is not None and flag.expr.op == "lit" and flag.expr.args[0]:
                mask |= self.domain.mask(dims)
            elif flag is not None and flag.expr.op != "lit":
                return None, 0
        if mask == ALL:
            return WORLD, ALL
        members: Expr | None = None
        if entry.members == "ends":
            members = self.values.either(self.values.first(mask), self.values.last(mask))
        elif entry.members == "first":
            members = self.values.first(mask)
        return Group(
            mask, members, identity=entry.identity, name=entry.identity or self.domain.axes.label(mask), weak=entry.weak
        ), mask

    def event(
        self, entry: Entry, group: Group | None, args: list[V], kwargs: dict[str, V], node: Node | None, text: str
    ) -> V:
        """Leave an event behind, and what it makes uniform."""
        call: Node = node if node is not None else ("K", ("N", text), (), (), self.frame.definition.line, 1, 1, 2)
        payload = _argument(entry.payload, args, kwargs)
        payload_node = _argument_node(entry.payload, call)
        site = self.call_site(call)
        result = self.domain.unknown(f"{text}@{self.frame.path}:{call[4]}", nonnull=True, text=f"{text}()")
        waits = _argument((-1, entry.asynchronous), args, kwargs) if entry.asynchronous else None
        handle = ""
        if waits is not None and waits.expr.op == "lit" and waits.expr.args[0]:
            handle = f"{self.frame.path}:{call[4]}:{call[5]}"
            result = V(result.expr, Work(handle), self.no)
        if entry.creates and _among_members(kwargs):
            group = _listed(_argument((0, "ranks"), args, kwargs))
        if group is not None:
            facts = self.facts(entry, group, args, kwargs, payload, payload_node, site)
            if handle:
                facts["handle"] = handle
            given = _argument(entry.group, args, kwargs)
            turns = [name for name, value in (("turn of group", given), ("turn", payload)) if _turns(value)]
            self.sized(entry, group, payload, facts)
            if turns:
                facts["flags"] = (*facts.get("flags", ()), turns[0])
            self.frame.items.append(OpItem(entry.op, group, site, facts))
        dims = ALL if group is None or group.unknown else group.dims
        if entry.effect in ("in-place", "list") and payload_node is not None:
            self.clear(payload_node, dims, call, None if group is None else (entry.op, site))
        if entry.effect == "returns":
            source = payload or (args[0] if args else None)
            if source is not None:
                key = f"{text}@{self.frame.path}:{call[4]}:{call[5]}"
                result = replace(self.domain.cleared(source, dims, key), data=None, null=self.no, text=f"{text}()")
        if entry.creates and entry.op in ("new_group",):
            return self.created(args, kwargs, text, call)
        return result

    def created(self, args: list[V], kwargs: dict[str, V], text: str, call: Node) -> V:
        """Give the group that `new_group` returns: of the world, of the ranks that all list alike, else unknown."""
        ranks = _argument((0, "ranks"), args, kwargs)
        if ranks is not None:
            self.frame.listed.append(ranks.expr.id)
        made: Group | None = WORLD if ranks is None or _is_none(ranks) else _listed(ranks)
        if made is None:
            return self.domain.unknown(self.key(text, call[4]))
        group = replace(made, identity=f"{self.frame.path}:{call[4]}")
        return V(self.values.atom(self.key(text, call[4]), Origin.UNKNOWN), Grp(group), self.no)

    def facts(
        self,
        entry: Entry,
        group: Group,
        args: list[V],
        kwargs: dict[str, V],
        payload: V | None,
        payload_node: Node | None,
        site: Site,
    ) -> dict[str, Any]:
        """Give the keyword arguments of the event's term."""
        facts: dict[str, Any] = {}
        flags: list[str] = []
        if entry.composite:
            flags.append("composite")
        if entry.object_form:
            flags.append("object")
        if entry.creates:
            flags.append("creates")
        if entry.weak:
            flags.append("weak")
        root = _argument(entry.root, args, kwargs)
        if (
            root is not None
            and _numeric(root.expr)
            and not atoms_in(root.expr)
            and _may_be_root(entry, group, root.expr)
        ):
            facts["root"] = root.expr
        if flags:
            facts["flags"] = tuple(flags)
        if not _among_members(kwargs):
            lists = [_argument(where, args, kwargs) for where in entry.agree]
            agree = tuple(self.whole(v.expr) for v in lists if v is not None and v.expr.var and not _oneself(v))
            if agree:
                facts["agree"] = agree
        if payload is not None and payload.label:
            facts["keys"] = (payload.label.lstrip("~"),)
        if entry.op in ("broadcast", "broadcast_object_list") and payload is not None and payload_node is not None:
            path = self.path(payload_node) or self.path(_inner(payload_node))
            if path:
                slot = f"{site.span.path}:{site.span.line}:{site.span.column}"
                facts["into"] = (slot,)
                if payload.expr.op != "atom" or payload.expr.args[1] is not Origin.UNKNOWN:
                    facts["value"] = payload.expr
        return facts

    def sized(self, entry: Entry, group: Group, payload: V | None, facts: dict[str, Any]) -> None:
        """Note how many elements an event is given where that differs inside of its group."""
        if entry.op not in _EQUAL_SIZES or payload is None or not isinstance(payload.data, Sized):
            return
        many = payload.data.many
        if many.var & group.dims and not atoms_in(many):
            facts["agree"] = (*facts.get("agree", ()), many)
            facts["flags"] = (*facts.get("flags", ()), "sized")

    def whole(self, expr: Expr) -> Expr:
        """Give a value as one fact where it is not computed from coordinates alone: nothing inside explains it away."""
        return self.domain.opaque(f"#{expr.id}", (expr,), close=True) if atoms_in(expr) else expr

    def clear(self, node: Node, dims: int, call: Node, event: tuple[str, Site] | None = None) -> None:
        """Take dims away from a place that was reduced, and from all aliases of its storage."""
        targets = node[1] if node[0] in ("L", "T") else (node,)
        for target in targets:
            path = self.path(_inner(target))
            if not path:
                continue
            value = self.frame.env.get(path) or self.eval(_inner(target))
            key = f"{path}@{self.frame.path}:{call[4]}:{call[5]}"
            if event is not None and event[0] in ("broadcast", "broadcast_object_list"):
                slot = f"{event[1].span.path}:{event[1].span.line}:{event[1].span.column}"
                after = replace(value, expr=self.values.received(slot, var=value.expr.var & ~dims), data=None)
                if after.null is not None and after.null.var & dims:
                    after = replace(after, null=None)
            else:
                after = self.domain.cleared(value, dims, key)
            root = _root(path)
            reached = {root}
            env, buf = self.frame.env, value.buf
            for name in [name for name, other in env.items() if other is value or (buf and other.buf == buf)]:
                env[name] = after
                reached.add(name)
            self.bind(path, root, after)
            for param in self.frame.definition.params:
                if param.name in reached:
                    self.frame.cleared[param.name] = self.frame.cleared.get(param.name, 0) | dims

    # -- methods and builtins ------------------------------------------------------------------------------------

    def special(self, base: V, name: str, node: Node) -> V | None:
        """Methods of groups, meshes, tensors, handles, dicts and lists."""
        data = base.data
        if isinstance(data, Module | Klass | Func | Config):
            return None
        if isinstance(data, Instance):
            known_method = self.engine.linker.method(data.key, name) is not None
            return None if known_method or name not in _SAME else base
        if isinstance(data, Grp) and name in ("rank", "size"):
            make = self.values.group_rank if name == "rank" else self.values.size
            return self.domain.of(make(data.group))
        if isinstance(data, MeshOf):
            return self.mesh_method(data, name, node)
        if isinstance(data, Unordered) and name in ("items", "keys", "values"):
            return base
        if name == "rank" and data is None and not node[2] and known.is_group(base.text.rpartition(".")[2]):
            group = self.domain.group_of(base)
            return None if group is None else self.domain.of(self.values.group_rank(group))
        if name == "get_local_rank" and data is None and base.text.endswith("mesh"):
            args, kwargs = self.arguments(node)
            group = self.domain.group_of(self.pure(f"{base.text}.get_group", args, kwargs, base, node))
            return None if group is None else self.domain.of(self.values.group_rank(group))
        if isinstance(data, Work) and name == "wait":
            self.frame.items.append(WaitItem(data.handle, self.call_site(node)))
            return self.domain.const(None)
        if name in _SAME and not isinstance(data, Seq | Map):
            self.arguments(node)
            same = replace(self.stored(base, node[1][1]) if name in _VIEWS else base, null=self.no)
            return replace(same, data=None) if name in ("narrow", "expand") and isinstance(data, Sized) else same
        if name in _COUNTS and not isinstance(data, Seq | Map):
            args, _ = self.arguments(node)
            parts = (base.expr, *(a.expr for a in args))
            key = f"{name}({','.join(f'#{e.id}' for e in parts)})"
            many = self.how_many(key, base, node[1][1]) if name in ("numel", "size", "nelement") else None
            if many is not None:
                return many
            if base.expr.op == "atom" and base.expr.args[1] is Origin.UNKNOWN:
                return self.domain.of(self.values.atom(key, Origin.UNKNOWN, count=True))
            return self.domain.of(self.domain.opaque(key, parts, count=True, close=True))
        if name == "get" and node[2]:
            return self.get(base, node)
        if name in ("copy_", "fill_") and node[2]:
            args, _ = self.arguments(node)
            path = self.path(node[1][1])
            if path:
                again = replace(args[0], buf=base.buf, label=base.label, data=None, null=self.no)
                self.bind(path, _root(path), again)
            return base
        if name in ("append", "extend", "add", "insert", "update") and node[2]:
            return self.grow(base, name, node)
        if name == "split" or name == "format":
            return None
        return None

    def stored(self, base: V, node: Node) -> V:
        """Give a value that a view is taken of: it has storage, whoever made it."""
        path = self.path(node)
        if base.buf or not path or self.frame.env.get(path) is not base:
            return base
        self.domain.fresh += 1
        made = replace(base, buf=self.domain.fresh)
        self.bind(path, _root(path), made)
        return made

    def mesh_method(self, data: MeshOf, name: str, node: Node) -> V | None:
        """`mesh.get_group("tp")`, `mesh.get_local_rank("tp")`, `mesh.size()`."""
        args, kwargs = self.arguments(node)
        text = f"mesh.{name}"
        mask, weak = data.dims, data.weak
        which = args[0] if args else kwargs.get("mesh_dim")
        if which is not None:
            if which.expr.op != "lit" or not isinstance(which.expr.args[0], str):
                return self.domain.unknown(self.key(text, node[4]))
            mask, weak = self.mesh_dims([which.expr.args[0]])
            if not mask:
                return self.domain.unknown(self.key(text, node[4]))
        group = Group(mask, weak=weak)
        if name == "get_group":
            return self.domain.of(self.values.atom(f"{text}#{mask}", Origin.UNKNOWN), Grp(group))
        if name in ("get_local_rank", "get_rank"):
            return self.domain.of(self.values.rank() if name == "get_rank" else self.values.coord(mask))
        if name == "size":
            return self.domain.of(self.values.extent(mask))
        if name == "_flatten":
            return self.domain.of(self.values.atom(f"{text}#{mask}", Origin.UNKNOWN), data)
        return None

    def get(self, base: V, node: Node) -> V:
        """`x.get(key, default)`."""
        args, _ = self.arguments(node)
        default = args[1] if len(args) > 1 else self.domain.const(None)
        index = args[0] if args else self.domain.unknown("?")
        path = self.path(("S", node[1][1], node[2][0]))
        if path and path in self.frame.env:
            return self.frame.env[path]
        if isinstance(base.data, Map) and index.expr.op == "lit" and not base.data.rest:
            found = base.data.get(index.expr.args[0])
            return default if found is None else found
        value = self.element(base, index)
        if _is_none(default):
            return value
        return self.domain.join(self.domain.is_none(value), default, value)

    def grow(self, base: V, name: str, node: Node) -> V:
        """A list or dict grows under the conditions of the path: what it holds varies with them."""
        args, kwargs = self.arguments(node)
        path = self.path(node[1][1])
        if not path:
            return self.domain.const(None)
        parts = (base.expr, *(a.expr for a in args), *(v.expr for v in kwargs.values()), *self.frame.conditions)
        data: Any = None
        if isinstance(base.data, Seq) and name == "append" and len(base.data.items) < 32 and args:
            data = Seq((*base.data.items, args[0]))
        expr = self.domain.opaque(f"#{base.expr.id}.{name}@{self.frame.path}:{node[4]}", parts, close=True)
        self.bind(path, _root(path), V(expr, data, self.no, base.label, base.buf, base.text))
        return self.domain.const(None)

    def builtin(self, name: str, args: list[V], kwargs: dict[str, V], node: Node) -> V | None:
        """Built-in functions."""
        if (
            name in ("int", "float", "bool", "str", "abs", "list", "tuple", "sorted", "set", "reversed", "iter")
            and args
        ):
            if name == "bool":
                return self.domain.of(self.domain.truth(args[0]))
            if name == "str":
                return self.domain.of(self.domain.opaque(f"str(#{args[0].expr.id})", (args[0].expr,)))
            if name == "set" and args[0].data is None and not _numeric(args[0].expr):
                return replace(args[0], data=Unordered(), null=self.no)
            ordered = name == "sorted" and isinstance(args[0].data, Unordered)
            return replace(args[0], data=None if ordered else args[0].data, null=self.no)
        if name == "len" and args:
            if isinstance(args[0].data, Seq):
                return self.domain.of(self.values.lit(len(args[0].data.items)))
            key = f"len(#{args[0].expr.id})"
            many = self.how_many(key, args[0], node[2][0])
            return many or self.domain.of(self.domain.opaque(key, (args[0].expr,), count=True, close=True))
        if name == "range" and args:
            numbers = [self.domain.numeric(a) for a in args[:3]]
            if all(_numeric(n) for n in numbers):
                start, stop = (numbers[0], numbers[1]) if len(numbers) > 1 else (self.values.lit(0), numbers[0])
                return self.domain.of(self.values.range(start, stop, numbers[2] if len(numbers) > 2 else 1))
        if name in ("min", "max") and len(args) == 2:
            first, second = self.domain.numeric(args[0]), self.domain.numeric(args[1])
            if _numeric(first) and _numeric(second):
                return self.domain.of(self.values.arithmetic(name, first, second))
        if name == "next" and args:
            return V(self.values.atom(self.key("next", node[4]), Origin.CONTRACT), null=self.no, text="batch")
        if name == "getattr" and len(args) >= 2 and args[1].expr.op == "lit" and isinstance(args[1].expr.args[0], str):
            return self.attribute(args[0], args[1].expr.args[0])
        if name == "isinstance" and len(args) == 2:
            return self.isinstance(args[0], args[1])
        if name == "partial" and args and isinstance(args[0].data, Func):
            return self.partial(args, kwargs)
        if name in ("any", "all", "sum") and args:
            if isinstance(args[0].data, Seq) and name != "sum":
                parts = [self.domain.truth(v) for v in args[0].data.items]
                return self.domain.of(self.values.either(*parts) if name == "any" else self.values.both(*parts))
            return self.domain.of(self.domain.opaque(f"{name}(#{args[0].expr.id})", (args[0].expr,)))
        return None

    def isinstance(self, value: V, kind: V) -> V:
        """`isinstance(x, K)`: known where x is an object of a known class or a literal."""
        exact = isinstance(value.data, Instance) and not value.data.weak
        if exact and isinstance(kind.data, Klass) and kind.data.key in self.engine.linker.mro(value.data.key):
            return self.domain.const(True)
        if value.expr.op == "lit":
            return self.domain.unknown(f"isinstance(#{value.expr.id},#{kind.expr.id})", nonnull=True)
        return self.domain.of(self.values.atom(f"isinstance(#{value.expr.id},#{kind.expr.id})", Origin.CONTRACT))

    def partial(self, args: list[V], kwargs: dict[str, V]) -> V:
        """`functools.partial(f, ...)`."""
        func = args[0].data
        made = replace(func, args=(*func.args, *args[1:]), kwargs=(*func.kwargs, *kwargs.items()))
        return V(args[0].expr, made, self.no, text=args[0].text)

    def library(self, name: str, args: list[V], kwargs: dict[str, V], node: Node) -> V | None:
        """Calls of libraries without a model that still say something."""
        last = name.rpartition(".")[2]
        if name.endswith("functools.partial") and args and isinstance(args[0].data, Func):
            return self.partial(args, kwargs)
        if name.startswith("torch.") and last in ("tensor", "as_tensor", "Tensor", "LongTensor", "IntTensor", "clone"):
            self.domain.fresh += 1
            if args:
                held = self.held(args[0]) if last in ("tensor", "as_tensor") else None
                return V(args[0].expr, held, self.no, args[0].label, self.domain.fresh)
        if name.startswith("torch.") and last in (
            "empty",
            "zeros",
            "ones",
            "empty_like",
            "zeros_like",
            "full",
            "ones_like",
        ):
            self.domain.fresh += 1
            key = f"{last}@{self.frame.path}:{node[4]}:{node[5]}"
            if last in ("empty", "empty_like"):
                self.frame.hollow = True
                key = HOLLOW + key
            room = self.room(last, args)
            return V(self.values.atom(key, Origin.UNKNOWN), room, self.no, "", self.domain.fresh)
        if name.startswith("copy.") and args:
            return args[0]
        return None

    def held(self, value: V) -> Sized | None:
        """Give the size of a tensor of given numbers."""
        if not isinstance(value.data, Seq):
            plain = value.expr.op == "lit" and type(value.expr.args[0]) is int
            return Sized(self.values.lit(1)) if plain else None
        items = value.data.items
        if any(isinstance(item.data, Seq | Sized) or item.text.endswith("]") for item in items):
            return None
        return Sized(self.values.lit(len(items)))

    def room(self, name: str, args: list[V]) -> Sized | None:
        """Give the size of a tensor that is made by its shape."""
        if name.endswith("_like"):
            return args[0].data if args and isinstance(args[0].data, Sized) else None
        first = args[0].data if args else None
        sizes = first.items if isinstance(first, Seq) else args[:1] if name == "full" else tuple(args)
        many = 1
        for size in sizes:
            if size.expr.op != "lit" or type(size.expr.args[0]) is not int:
                return None
            many *= size.expr.args[0]
        return Sized(self.values.lit(many))


_EXPRESSIONS: dict[str, Callable[[Walker, Node], V]] = {
    "C": Walker.e_const, "N": Walker.e_name, "A": Walker.e_attribute, "S": Walker.e_subscript, "K": Walker.e_call,
    "B": Walker.e_bool, "U": Walker.e_unary, "M": Walker.e_binary, "Q": Walker.e_compare, "I": Walker.e_ternary,
    "T": Walker.e_sequence, "L": Walker.e_sequence, "E": Walker.e_sequence, "D": Walker.e_dict,
    "F": Walker.e_lambda, "G": Walker.e_comprehension, "*": Walker.e_star, "W": Walker.e_walrus,
    "Y": Walker.e_yield, "J": Walker.e_fstring, "X": Walker.e_unknown,
}  # fmt: skip

_STATEMENTS: dict[str, Callable[[Walker, Node], bool]] = {
    "expr": Walker.s_expr, "assign": Walker.s_assign, "aug": Walker.s_aug, "if": Walker.s_if, "for": Walker.s_for,
    "while": Walker.s_while, "try": Walker.s_try, "with": Walker.s_with, "return": Walker.s_return,
    "raise": Walker.s_raise, "break": Walker.s_break, "continue": Walker.s_continue, "assert": Walker.s_assert,
    "def": Walker.s_def, "class": Walker.s_class, "import": Walker.s_import, "match": Walker.s_match,
    "cases": Walker.s_cases,
}  # fmt: skip


def _argument(where: tuple[int, str], args: list[V], kwargs: dict[str, V]) -> V | None:
    position, keyword = where
    if keyword and keyword in kwargs:
        return kwargs[keyword]
    return args[position] if 0 <= position < len(args) else None


def _argument_node(where: tuple[int, str], call: Node) -> Node | None:
    position, keyword = where
    for name, value in call[3]:
        if keyword and name == keyword:
            found: Node = value
            return found
    return call[2][position] if 0 <= position < len(call[2]) else None


def _inner(node: Node) -> Node:
    """Strip views and wrappers off the place that a payload lies in."""
    while True:
        if node[0] == "K" and node[1][0] == "A" and node[1][2] in _SAME:
            node = node[1][1]
        elif node[0] in ("L", "T") and len(node[1]) == 1:
            node = node[1][0]
        elif node[0] == "A" and node[2] == "data":
            node = node[1]
        else:
            return node


def _rounds_up(node: Any) -> bool:
    """Say whether lowered code divides or takes a rest: shares of a sequence may be made equal by it."""
    if not isinstance(node, tuple):
        return False
    if node[:1] in (("M",), ("aug",)) and ("%" in node or "//" in node):
        return True
    return any(_rounds_up(part) for part in node)


def _stepped(body: tuple[Node, ...], name: Node, op: str) -> int | None:
    """Give the constant by which a loop body changes a name, if it does so once in every round and not otherwise."""
    found: int | None = None
    for node in body:
        if node[0] == "aug" and node[2] == name:
            if found is not None or node[3] != op or node[4][0] != "C" or type(node[4][1]) is not int or node[4][1] < 1:
                return None
            found = node[4][1]
        elif _changes(node, name) or node[0] == "continue" or _jumps((node,)):
            return None
    return found


def _changes(node: Any, name: Node) -> bool:
    """Say whether lowered code binds a name."""
    if not isinstance(node, tuple) or not node:
        return False
    targets = {"assign": 2, "aug": 2, "for": 2, "with": 2, "W": 1}.get(node[0] if isinstance(node[0], str) else "")
    if targets is not None and len(node) > targets and _mentions(node[targets], name):
        return True
    return any(_changes(part, name) for part in node)


def _mentions(node: Any, name: Node) -> bool:
    if not isinstance(node, tuple):
        return bool(node == name[1])
    return node == name or any(_mentions(part, name) for part in node)


def _unpacks(phi: Phi, count: int) -> bool:
    """Say whether both sides of a joined value are known sequences of a length."""
    sides = (phi.then.data, phi.otherwise.data)
    return all(isinstance(side, Seq) and len(side.items) == count for side in sides)


def _root(path: str) -> str:
    """Give the name that a path begins with."""
    return path.partition(".")[0].partition("[")[0]


def _is_none(value: V) -> bool:
    return value.expr.op == "lit" and value.expr.args[0] is None


_NUMBERS = frozenset(
    ("rank", "coord", "extent", "grank", "global", "size", "+", "-", "*", "//", "%", "min", "max", "var")
)


def _numeric(expr: Expr) -> bool:
    if expr.op == "lit":
        return isinstance(expr.args[0], int)
    if expr.op == "atom":
        return bool(expr.args[2])
    if expr.op == "ite":
        return _numeric(expr.args[1]) and _numeric(expr.args[2])
    return expr.op in _NUMBERS or expr.op == "recv"


def _boolean(expr: Expr) -> bool:
    return expr.op in ("==", "<", "<=", "in", "not", "and", "or", "member") or (expr.op == "atom" and not expr.args[2])


def atoms_in(expr: Expr) -> bool:
    """Say whether anything in a value number is not computed from coordinates and sizes."""
    if expr.op in ("atom", "recv"):
        return True
    return any(atoms_in(arg) for arg in expr.args if isinstance(arg, Expr))


def _may_be_root(entry: Entry, group: Group, root: Expr) -> bool:
    """Say whether a root is kept: one that varies on the group only where more than a name says so, and no peer."""
    if group.unknown:
        return root.op == "global" and group.may_equal(root.args[0])
    return not root.var & group.dims or (not root.weak and entry.op not in SENDS | RECEIVES)


_WRAPPERS = ("fully_shard", "FullyShardedDataParallel", "FSDP")


def _wrapped_after(node: Any, model: Node, line: int) -> bool:
    """Say whether lowered code below a line wraps what an expression names."""
    if not isinstance(node, tuple):
        return False
    if len(node) == 8 and node[0] == "K" and node[4] > line and model in node[2]:
        return dotted(node[1]).endswith(_WRAPPERS)
    return any(_wrapped_after(part, model, line) for part in node)


def _among_members(kwargs: dict[str, V]) -> bool:
    """Say whether a group may be created by its members alone."""
    near = kwargs.get("use_local_synchronization")
    return near is not None and (near.expr.op != "lit" or bool(near.expr.args[0]))


def _turns(value: V | None) -> bool:
    return value is not None and takes_turns(value.expr)


def _listed(ranks: V | None) -> Group | None:
    """Give the group of a list of ranks that all ranks write alike; None where it is not known."""
    if ranks is None or ranks.expr.op not in ("list", "range") or ranks.expr.var or atoms_in(ranks.expr):
        return None
    name = f"[{', '.join(map(show, ranks.expr.args))}]" if ranks.expr.op == "list" else show(ranks.expr)
    return Group(ALL, lists=ranks.expr, name=name)


def _oneself(value: V) -> bool:
    """Say whether a list of ranks holds the own rank alone."""
    items = value.data.items if isinstance(value.data, Seq) else ()
    return len(items) == 1 and (items[0].expr.op == "rank" or items[0].expr.args[:1] == (ALL,))


def _line(node: Any) -> int:
    """Give the line of the first call in an expression; 0 where there is none."""
    if isinstance(node, tuple):
        if node and node[0] == "K" and len(node) == 8:
            return int(node[4])
        for part in node:
            found = _line(part)
            if found:
                return found
    return 0


def _jumps(body: tuple[Node, ...]) -> bool:
    """Say whether a loop body breaks or continues."""
    for node in body:
        if node[0] in ("break", "continue"):
            return True
        if node[0] == "if" and (_jumps(node[3]) or _jumps(node[4])):
            return True
        if node[0] in ("with",) and _jumps(node[3]):
            return True
        if node[0] == "try" and (_jumps(node[2]) or any(_jumps(h[2]) for h in node[3])):
            return True
    return False


def _escapes(items: list[Item]) -> bool:
    """Say whether a loop's items leave the function."""
    for item in items:
        if isinstance(item, ExitItem) and item.kind == "return":
            return True
        if isinstance(item, AltItem) and (_escapes(item.then) or _escapes(item.otherwise)):
            return True
        if isinstance(item, LoopItem) and _escapes(item.body):
            return True
        if isinstance(item, GuardItem) and (_escapes(item.body) or _escapes(item.tail)):
            return True
        if isinstance(item, BlockItem | HoleItem) and item.body and _escapes(item.body):
            return True
    return False


def _has_decorator(definition: Definition, name: str) -> bool:
    return any(dotted(d[1] if d[0] == "K" else d).rpartition(".")[2] == name for d in definition.decorators)


def _is_property(definition: Definition) -> bool:
    return _has_decorator(definition, "property") or _has_decorator(definition, "cached_property")


def _is_manager(definition: Definition) -> bool:
    return _has_decorator(definition, "contextmanager")


def _called(items: list[Item], walker: Walker, site: Site) -> list[Item]:
    """Give items of a callee as seen from the call: nothing to do but keep them (their sites are the callee's own)."""
    return items
