"""Protocol terms: what a function does to groups, as an immutable graph of shared nodes.

A term is built from the last statement back: every constructor takes what comes after, so that exits vanish
(`if c: A; return` followed by R is `alt(c, A, R)`). Each node has an `id` (with its places) and a `shape` (without):
two terms do the same exactly if their shapes are equal. The constructors of `Terms` normalise: equal branches join,
equal first events are lifted out of a branch, loops without events vanish.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from meshlint.mesh.gate import Expr, Values
from meshlint.mesh.group import Group
from meshlint.place import Span
from meshlint.records import dataclass


@dataclass(slots=True)
class Site:
    """Where something stands: its place, what is written there, and the call by which the caller reached it.

    Never stored to, like the nodes below; freezing would make the making of them three times as slow.
    """

    span: Span
    label: str = ""
    via: Site | None = None
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Give the hash, computed once: chains of calls are long and hashed often."""
        known = self._hash
        if not known:
            known = self._hash = hash((self.span, self.label, self.via)) or 1
        return known

    def __eq__(self, other: object) -> bool:
        """Say whether another is the same place, reached by the same calls."""
        if not isinstance(other, Site):
            return NotImplemented
        if hash(self) != hash(other):  # which leaves the hash in all of both chains
            return False
        one: Site | None = self
        two: Site | None = other
        while one is not two:
            if one is None or two is None or one._hash != two._hash or one.span != two.span or one.label != two.label:
                return False
            one, two = one.via, two.via
        return True

    def frames(self) -> tuple[Site, ...]:
        """Give the chain of calls, outermost first; the last one is this place itself."""
        chain, here = [self], self.via
        while here is not None:
            chain.append(here)
            here = here.via
        return tuple(reversed(chain))

    def within(self, caller: Site) -> Site:
        """Give the same place, reached through the call at `caller`."""
        return Site(self.span, self.label, caller if self.via is None else self.via.within(caller))

    @property
    def key(self) -> tuple[Span, ...]:
        """The order of places: outermost call first."""
        return tuple(frame.span for frame in self.frames())


@dataclass(frozen=True, slots=True)
class Gate:
    """The statement that a branch comes from.

    `form`: `if`, `and`, `ternary`, `assert`, `except`, `decorator`, `filter`, `loop`. `leaves`: how a side leaves what
    encloses it (`return`, `raise`, `break`, `continue`, `exit`), or "". `leaves_if` says which side leaves.
    `end_line` is the last line of the statement: an event on a later line of the same function stands after it.
    `exit_site` is the statement that leaves. `flipped` says that the condition of the branch is that of the statement
    denied.
    """

    site: Site
    form: str = "if"
    leaves: str = ""
    leaves_if: bool = True
    end_line: int = 0
    exit_site: Site | None = None
    flipped: bool = False
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Give the hash, computed once: branches are looked up by their gate."""
        known = self._hash
        if not known:
            fields = (self.site, self.form, self.leaves, self.leaves_if, self.end_line, self.exit_site, self.flipped)
            known = hash(fields) or 1
            object.__setattr__(self, "_hash", known)
        return known

    def within(self, caller: Site) -> Gate:
        """Give the same gate, reached through the call at `caller`."""
        leave = None if self.exit_site is None else self.exit_site.within(caller)
        site = self.site.within(caller)
        return Gate(site, self.form, self.leaves, self.leaves_if, self.end_line, leave, self.flipped)


FALLS, BREAKS, RETURNS, EXITS = 1, 2, 4, 8
"""How a way can end: it falls through to the end, or leaves the loop, the function or the program."""


@dataclass(slots=True, eq=False)
class Node:
    """What every node caches.

    `size` counts nodes (a shared one once per path, capped), `groups` are those of its events, `var` joins its gates,
    `ends` says how its ways end (FALLS, BREAKS, RETURNS, EXITS), `all` is what `walk` gives, once it was asked.
    """

    id: int
    shape: int
    size: int
    groups: tuple[Group, ...]
    var: int
    ends: int
    all: tuple[Node, ...] | None = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Nil(Node):
    """Nothing more: the end of a function or of a loop body."""


@dataclass(slots=True, eq=False)
class Break(Node):
    """Inside a loop body: leave the loop."""


@dataclass(slots=True, eq=False)
class Return(Node):
    """Inside a loop body: leave the loop and go on at its `after_return`."""


@dataclass(slots=True, eq=False)
class Exit(Node):
    """The rank leaves the protocol: an exception that nobody catches, or the end of the process."""

    site: Site


@dataclass(slots=True, eq=False)
class Op(Node):
    """One event on a group, and what follows.

    `kind` names the operation (`all_reduce`, `broadcast`, `new_group`, ...). `root` gives a global rank. `signature`:
    known facts of size and type that must agree. `agree`: expressions whose values all members must share (the list of
    a new_group, a count). `flags`: `composite`, `object`, `weak`, ... `keys`: which keys of a batch it carries.
    `value` is evaluated at the root and lands in every slot of `into` (`Values.received`); without it the slots get a
    fresh value that is uniform over the instance. `handle`: an issue that never blocks, until `Wait(handle)`.
    """

    kind: str
    group: Group
    rest: Node
    site: Site
    root: Expr | None = None
    signature: tuple[str, ...] = ()
    agree: tuple[Expr, ...] = ()
    flags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    value: Expr | None = None
    into: tuple[str, ...] = ()
    handle: str = ""


@dataclass(slots=True, eq=False)
class Wait(Node):
    """Block until the operation issued last under `handle` has matched."""

    handle: str
    rest: Node
    site: Site


@dataclass(slots=True, eq=False)
class Alt(Node):
    """A branch; what follows the statement stands at the end of both sides."""

    condition: Expr
    then: Node
    otherwise: Node
    gate: Gate


@dataclass(slots=True, eq=False)
class Loop(Node):
    """`trip` times `body`, then `rest`; a `Return` in the body goes on at `after_return`."""

    trip: Expr
    body: Node
    rest: Node
    after_return: Node
    gate: Gate


@dataclass(slots=True, eq=False)
class Opaque(Node):
    """Something on `over` that is not known (None: on any group): comparing with it is silence."""

    over: tuple[Group, ...] | None
    rest: Node
    site: Site


_LEAF_ENDS: dict[type[Node], int] = {Nil: FALLS, Break: BREAKS, Return: RETURNS, Exit: EXITS}

SIZE_CAP = 1 << 20
"""Where the count of nodes along paths stops counting."""


def children(node: Node) -> tuple[Node, ...]:
    """Give the nodes that directly follow."""
    if isinstance(node, Alt):
        return (node.then, node.otherwise)
    if isinstance(node, Loop):
        return (node.body, node.rest, node.after_return)
    if isinstance(node, (Op, Wait, Opaque)):
        return (node.rest,)
    return ()


def walk(term: Node) -> tuple[Node, ...]:
    """Give every node once, each before what follows it, in the order of the program."""
    known = term.all
    if known is None:
        known = term.all = tuple(_walked(term))
    return known


def _walked(term: Node) -> list[Node]:
    found: list[Node] = []
    seen: set[int] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        while node.id not in seen:
            seen.add(node.id)
            found.append(node)
            if isinstance(node, (Op, Wait, Opaque)):
                node = node.rest
            elif isinstance(node, Alt):
                stack.append(node.otherwise)
                node = node.then
            elif isinstance(node, Loop):
                stack += (node.after_return, node.rest)
                node = node.body
    return found


def count(term: Node) -> int:
    """Count the nodes, each once: what a limit on summaries should look at."""
    return len(walk(term))


@dataclass(slots=True)
class Joins:
    """Post-dominators of the nodes of one table, by id; computed on demand and kept.

    `up[id]` is the node to which every way from that node leads next; None at the ends. Ways that leave the program
    by an exception lead nowhere and do not count. `dead` and `depth` go by shape.
    """

    up: dict[int, Node | None] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    depth: dict[int, int] = field(default_factory=dict)

    def of(self, left: Node, right: Node) -> Node | None:
        """Give where two ways meet, or None."""
        self._fill(left)
        self._fill(right)
        if left.shape in self.dead or right.shape in self.dead:
            return None
        return self._meet(left, right)

    def next(self, node: Node) -> Node | None:
        """Give the nearest node that every way from `node` passes, or None if the ways end apart."""
        self._fill(node)
        return self.up[node.id]

    def _fill(self, term: Node) -> None:
        stack = [term]
        while stack:
            node = stack[-1]
            below = [child for child in _ways(node) if child.id not in self.up]
            if below:
                stack += below
                continue
            stack.pop()
            if node.id not in self.up:
                joined = self._joined(self._living(node))
                self.up[node.id] = joined
                self.depth[node.shape] = 0 if joined is None else self.depth[joined.shape] + 1

    def _living(self, node: Node) -> tuple[Node, ...]:
        ways = _ways(node)
        living = tuple(way for way in ways if way.shape not in self.dead)
        if isinstance(node, Exit) or (ways and not living):
            self.dead.add(node.shape)
        return living

    def _joined(self, ways: tuple[Node, ...]) -> Node | None:
        if not ways:
            return None
        joined: Node | None = ways[0]
        for way in ways[1:]:
            joined = self._meet(joined, way)
        return joined

    def _meet(self, left: Node | None, right: Node | None) -> Node | None:
        while left is not None and right is not None and left.shape != right.shape:
            if self.depth[left.shape] >= self.depth[right.shape]:
                left = self.up[left.id]
            else:
                right = self.up[right.id]
        return left if right is not None else None


def _ways(node: Node) -> tuple[Node, ...]:
    """Give where control can go: a loop's body is inside of the loop, its return only if there is one."""
    if isinstance(node, Loop):
        return (node.rest, node.after_return) if returns(node.body) else (node.rest,)
    return children(node)


def returns(body: Node) -> bool:
    """Say whether a loop body holds a `return`."""
    return bool(body.ends & RETURNS)


def breaks(body: Node) -> bool:
    """Say whether a loop body leaves its loop: `break`, `return` or an exit."""
    return bool(body.ends & (BREAKS | RETURNS | EXITS))


def falls_through(body: Node) -> bool:
    """Say whether a loop body can come to its end, so that a second round is possible."""
    return bool(body.ends & FALLS)


def _ends(kind: type[Node], below: tuple[Node, ...]) -> int:
    if kind is Loop:
        body, rest, after_return = below
        return (body.ends & EXITS) | rest.ends | (after_return.ends if body.ends & RETURNS else 0)
    ends = _LEAF_ENDS.get(kind, 0)
    for node in below:
        ends |= node.ends
    return ends


@dataclass(slots=True)
class Terms:
    """The table of one program's terms. Nodes of one table share; never mix tables."""

    values: Values = field(default_factory=Values)
    _nodes: dict[tuple[Any, ...], Node] = field(default_factory=dict)
    _shapes: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _heads: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _events: dict[tuple[int, Group], int] = field(default_factory=dict)
    _event_of: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The numbers of each event, with its group and of its facts alone, by the id of its node: copies share them."""
    _sites: dict[tuple[Span, str, int], Site] = field(default_factory=dict)
    """The one site of each place and of the call by which it is reached, which is known by its identity."""
    _gates: dict[tuple[int, str, str, bool, int, int, bool], Gate] = field(default_factory=dict)
    """The one gate of each kind, likewise."""
    _own: dict[int, Site | Gate] = field(default_factory=dict)
    """Those sites and gates by their identity."""
    _called: dict[tuple[int, int, int], Node] = field(default_factory=dict)
    """What `call` gave."""
    _orders: dict[int, list[tuple[Node, bool]]] = field(default_factory=dict)
    """The nodes of terms that were copied, as `_order` gives them."""
    _unions: dict[tuple[Any, ...], tuple[Group, ...]] = field(default_factory=dict)
    """What `_joined` gave, by the identities of the groups of what follows, which their nodes keep alive."""
    joins: Joins = field(default_factory=Joins)
    cuts: dict[tuple[int, int], Node] = field(default_factory=dict)
    """What `meshlint.mesh.segment.cut` gave."""
    copied: dict[tuple[int, int], int] = field(default_factory=dict)
    """How many nodes it went through for that."""
    work: int = 0
    """How many nodes were gone through for parts in all, those of parts that are known included."""

    @property
    def nil(self) -> Node:
        """The end."""
        return self._leaf(Nil)

    @property
    def stop(self) -> Node:
        """Leave the enclosing loop (`break`)."""
        return self._leaf(Break)

    @property
    def leave(self) -> Node:
        """Leave the function from inside a loop body (`return`)."""
        return self._leaf(Return)

    def exit(self, site: Site) -> Node:
        """Make the end of the rank's part: an uncaught exception, the end of the process."""
        one = self._site(site)
        return self._made(Exit, (id(one),), ("exit",), (), (), 0, (one,))

    def _leaf(self, kind: type[Node]) -> Node:
        return self._made(kind, (), (kind.__name__,), (), (), 0, ())

    def _site(self, site: Site) -> Site:
        """Give the one site of this place that the nodes of this table hold: they are told apart by its identity."""
        if self._own.get(id(site)) is site:
            return site
        via = site.via
        return self._reached(site, None if via is None else self._site(via))

    def _reached(self, site: Site, via: Site | None) -> Site:
        """Give the one site of a place that is reached through a call, of which it is given the one site."""
        key = (site.span, site.label, 0 if via is None else id(via))
        found = self._sites.get(key)
        if found is None:
            found = self._sites[key] = site if site.via is via else Site(site.span, site.label, via)
            self._own[id(found)] = found
        return found

    def _gate(self, gate: Gate) -> Gate:
        """Give the one gate of this kind, as for sites."""
        if self._own.get(id(gate)) is gate:
            return gate
        leave = gate.exit_site
        return self._gate_at(gate, self._site(gate.site), None if leave is None else self._site(leave))

    def _gate_at(self, gate: Gate, site: Site, leave: Site | None) -> Gate:
        """Give the one gate at a place, of which it is given the one site."""
        end = 0 if leave is None else id(leave)
        key = (id(site), gate.form, gate.leaves, gate.leaves_if, gate.end_line, end, gate.flipped)
        found = self._gates.get(key)
        if found is None:
            found = Gate(site, gate.form, gate.leaves, gate.leaves_if, gate.end_line, leave, gate.flipped)
            self._gates[key] = found
            self._own[id(found)] = found
        return found

    def _made(
        self,
        kind: type[Node],
        told: tuple[Any, ...],
        facts: tuple[Any, ...],
        below: tuple[Node, ...],
        groups: tuple[Group, ...],
        var: int,
        fields: tuple[Any, ...],
    ) -> Node:
        """Give the node that is told by this apart from others of its kind."""
        key = (kind, *told)
        found = self._nodes.get(key)
        return self._added(key, kind, facts, below, groups, var, fields) if found is None else found

    def _added(
        self,
        key: tuple[Any, ...],
        kind: type[Node],
        facts: tuple[Any, ...],
        below: tuple[Node, ...],
        groups: tuple[Group, ...],
        var: int,
        fields: tuple[Any, ...],
    ) -> Node:
        shape = self._shapes.setdefault((*facts, *[node.shape for node in below]), len(self._shapes))
        size = min(SIZE_CAP, 1 + sum([node.size for node in below]))
        for node in below:
            var |= node.var
        acted = (groups, *[id(node.groups) for node in below])
        union = self._unions.get(acted)
        if union is None:
            union = self._unions[acted] = _joined(groups, below)
        node = kind(len(self._nodes), shape, size, union, var, _ends(kind, below), *fields)
        self._nodes[key] = node
        return node

    def op(
        self,
        kind: str,
        group: Group,
        rest: Node,
        site: Site,
        *,
        root: Expr | None = None,
        signature: tuple[str, ...] = (),
        agree: tuple[Expr, ...] = (),
        flags: tuple[str, ...] = (),
        keys: tuple[str, ...] = (),
        value: Expr | None = None,
        into: tuple[str, ...] = (),
        handle: str = "",
    ) -> Node:
        """Make one event followed by `rest`; see `Op`."""
        head = _head(kind, group, root, signature, agree, keys, handle)
        facts = (head, flags, None if value is None else value.id, into)
        number = self._heads.setdefault(facts, len(self._heads))
        numbers = self._events.setdefault((number, group), len(self._events)), number
        one = self._site(site)
        fields = (kind, group, rest, one, root, signature, agree, flags, keys, value, into, handle)
        return self._event(numbers, rest, one, fields)

    def moved(self, op: Op, rest: Node, site: Site) -> Node:
        """Make the same event at another place, the site of a node of this table, before another `rest`."""
        numbers = self._event_of[op.id]
        found = self._nodes.get((Op, numbers[0], rest.id, id(site)))
        if found is not None:
            return found
        fields = (
            op.kind, op.group, rest, site, op.root, op.signature, op.agree, op.flags, op.keys, op.value, op.into,
            op.handle,
        )  # fmt: skip
        return self._event(numbers, rest, site, fields)

    def _event(self, numbers: tuple[int, int], rest: Node, site: Site, fields: tuple[Any, ...]) -> Node:
        key = (Op, numbers[0], rest.id, id(site))
        found = self._nodes.get(key)
        if found is None:
            found = self._added(key, Op, ("op", numbers[1]), (rest,), (fields[1],), 0, fields)
            self._event_of[found.id] = numbers
        return found

    def wait(self, handle: str, rest: Node, site: Site) -> Node:
        """Make the wait for an operation issued under `handle`."""
        one = self._site(site)
        told = (handle, rest.id, id(one))
        return self._made(Wait, told, ("wait", handle), (rest,), (), 0, (handle, rest, one))

    def opaque(self, over: tuple[Group, ...] | None, rest: Node, site: Site) -> Node:
        """Make something unknown on the groups `over` (None: any)."""
        if over == ():
            return rest
        facts = ("opaque", None if over is None else tuple(channel_key(group) for group in over))
        one = self._site(site)
        return self._made(Opaque, (over, rest.id, id(one)), facts, (rest,), over or (), 0, (over, rest, one))

    def alt(self, condition: Expr, then: Node, otherwise: Node, gate: Gate) -> Node:
        """Make a branch: joins equal sides, lifts equal first events, drops the arm of a known condition.

        Events after the place where both sides meet are left there, so that a gate keeps what stands inside of it.
        """
        return self._branch(condition, then, otherwise, self._gate(gate))

    def _branch(self, condition: Expr, then: Node, otherwise: Node, gate: Gate) -> Node:
        """Make a branch of a gate of this table."""
        if condition.op == "lit":
            return then if condition.args[0] else otherwise
        if condition.op == "not":
            return self._branch(condition.args[0], otherwise, then, self._gate(_flipped(gate)))
        if then.shape == otherwise.shape:
            return then
        if not (isinstance(then, Op) and isinstance(otherwise, Op)):
            return self._alt(condition, then, otherwise, gate)
        lifted: list[tuple[Op, Op]] = []
        join = self.joins.of(then, otherwise)
        ends = -1 if join is None else join.shape
        while isinstance(then, Op) and isinstance(otherwise, Op) and ends not in (then.shape, otherwise.shape):
            if not _liftable(then, otherwise, condition):
                break
            lifted.append((then, otherwise))
            then, otherwise = then.rest, otherwise.rest
        node = then if then.shape == otherwise.shape else self._alt(condition, then, otherwise, gate)
        for first, second in reversed(lifted):
            node = self._merged(condition, first, second, node)
        return node

    def _alt(self, condition: Expr, then: Node, otherwise: Node, gate: Gate) -> Node:
        key = (Alt, condition.id, then.id, otherwise.id, id(gate))
        found = self._nodes.get(key)
        if found is None:
            fields = (condition, then, otherwise, gate)
            found = self._added(key, Alt, ("alt", condition.id), (then, otherwise), (), condition.var, fields)
        return found

    def _merged(self, condition: Expr, first: Op, second: Op, rest: Node) -> Node:
        value = first.value
        if first.value is not second.value:
            known = first.value is not None and second.value is not None
            value = self.values.choose(condition, first.value, second.value) if known else None
        into = tuple(dict.fromkeys((*first.into, *second.into)))
        flags = tuple(sorted({*first.flags, *second.flags}))
        return self.again(first, rest, first.site, value=value, into=into, flags=flags)

    def again(self, op: Op, rest: Node, site: Site, **changes: Any) -> Node:
        """Make the same event before another `rest`, with some of its fields changed."""
        facts: dict[str, Any] = {
            "root": op.root, "signature": op.signature, "agree": op.agree, "flags": op.flags, "keys": op.keys,
            "value": op.value, "into": op.into, "handle": op.handle,
        }  # fmt: skip
        group = changes.pop("group", op.group)
        return self.op(op.kind, group, rest, site, **{**facts, **changes})

    def loop(self, trip: Expr, body: Node, rest: Node, gate: Gate, after_return: Node | None = None) -> Node:
        """Make a loop; `after_return` (default: the end) is where a `return` inside the body goes on."""
        return self._loop(trip, body, rest, self._gate(gate), self.nil if after_return is None else after_return)

    def _loop(self, trip: Expr, body: Node, rest: Node, gate: Gate, goes_on: Node) -> Node:
        """Make a loop of a gate of this table."""
        if isinstance(body, (Nil, Break)) or (trip.op == "lit" and trip.args[0] == 0):
            return rest
        if isinstance(body, Return) and goes_on.shape == rest.shape:
            return rest
        if trip.op == "lit" and isinstance(trip.args[0], int) and not falls_through(body):
            return _Copy(self, self.nil, None, stop=rest, leave=goes_on).of(body)
        told = (trip.id, body.id, rest.id, goes_on.id, id(gate))
        fields = (trip, body, rest, goes_on, gate)
        return self._made(Loop, told, ("loop", trip.id), (body, rest, goes_on), (), trip.var, fields)

    def then(self, term: Node, rest: Node) -> Node:
        """Put `rest` after every normal end of `term`."""
        return _Copy(self, rest, None).of(term)

    def call(self, callee: Node, site: Site, rest: Node) -> Node:
        """Put a callee's term at the call `site`, followed by `rest`; its places remember the call.

        A caller is walked once for each way in which it is called, and most of its calls come to the same each time.
        What is made of equal nodes is the same node: the second copy would be the first one.
        """
        via = self._site(site)
        key = (callee.id, id(via), rest.id)
        found = self._called.get(key)
        if found is None:
            found = self._called[key] = _Copy(self, rest, via).of(callee)
        return found


def _order(term: Node) -> list[tuple[Node, bool]]:
    """Give the nodes of a term, each after those that follow it, apart inside and outside of loop bodies.

    No recursion in the length of the term.
    """
    found: list[tuple[Node, bool]] = []
    outside: set[int] = set()
    inside: set[int] = set()
    stack: list[tuple[Node, bool]] = [(term, False)]
    while stack:
        node, body = stack[-1]
        done = inside if body else outside
        if node.id in done:
            stack.pop()
            continue
        known = len(stack)
        if isinstance(node, (Op, Wait, Opaque)):
            if node.rest.id not in done:
                stack.append((node.rest, body))
        elif isinstance(node, Alt):
            if node.then.id not in done:
                stack.append((node.then, body))
            if node.otherwise.id not in done:
                stack.append((node.otherwise, body))
        elif isinstance(node, Loop):
            if node.body.id not in inside:
                stack.append((node.body, True))
            if node.rest.id not in done:
                stack.append((node.rest, body))
            if node.after_return.id not in done:
                stack.append((node.after_return, body))
        if len(stack) == known:
            done.add(node.id)
            found.append((node, body))
            stack.pop()
    return found


@dataclass(slots=True)
class _Copy:
    """One copying of a term: `rest` after its normal ends, places reached through `via`.

    Everything is made by the constructors again, so that what comes together at the new ends is normalised.
    """

    terms: Terms
    rest: Node
    via: Site | None
    stop: Node | None = None
    leave: Node | None = None
    outside: dict[int, Node] = field(default_factory=dict)
    """The copy of each node, by its id."""
    inside: dict[int, Node] = field(default_factory=dict)
    """The same, of nodes inside of loop bodies."""
    sites: dict[int, Site] = field(default_factory=dict)
    """Places as reached through the call, by the identity of the place, which the copied term keeps alive."""
    gates: dict[int, Gate] = field(default_factory=dict)
    """Gates likewise."""

    def of(self, term: Node) -> Node:
        """Copy a term, what follows first; the order is that of the term, whatever is put after it."""
        orders = self.terms._orders
        order = orders.get(term.id)
        if order is None:
            order = orders[term.id] = _order(term)
        outside, inside = self.outside, self.inside
        for node, body in order:
            done = inside if body else outside
            done[node.id] = self._copied(node, body, done)
        return outside[term.id]

    def _copied(self, node: Node, body: bool, done: dict[int, Node]) -> Node:
        terms = self.terms
        if isinstance(node, Alt):
            gate = self.gates.get(id(node.gate)) or self._gate(node.gate)
            return terms._branch(node.condition, done[node.then.id], done[node.otherwise.id], gate)
        if isinstance(node, Op):
            site = self.sites.get(id(node.site)) or self._site(node.site)
            return terms.moved(node, done[node.rest.id], site)
        if isinstance(node, Loop):
            parts = self.inside[node.body.id], done[node.rest.id]
            return terms._loop(node.trip, *parts, self._gate(node.gate), done[node.after_return.id])
        if isinstance(node, Wait):
            return terms.wait(node.handle, done[node.rest.id], self._site(node.site))
        if isinstance(node, Opaque):
            return terms.opaque(node.over, done[node.rest.id], self._site(node.site))
        return self._end(node, body)

    def _end(self, node: Node, body: bool) -> Node:
        if isinstance(node, Nil):
            return node if body else self.rest
        if isinstance(node, Break):
            return node if body or self.stop is None else self.stop
        if isinstance(node, Return):
            return node if body or self.leave is None else self.leave
        return self.terms.exit(self._site(node.site)) if isinstance(node, Exit) else node

    def _site(self, site: Site) -> Site:
        """Give a place as reached through the call; equal chains of calls stay one chain."""
        if self.via is None:
            return site
        found = self.sites.get(id(site))
        if found is None:
            via = self.via if site.via is None else self._site(site.via)
            found = self.sites[id(site)] = self.terms._reached(site, via)
        return found

    def _gate(self, gate: Gate) -> Gate:
        if self.via is None:
            return gate
        found = self.gates.get(id(gate))
        if found is None:
            leave = None if gate.exit_site is None else self._site(gate.exit_site)
            found = self.gates[id(gate)] = self.terms._gate_at(gate, self._site(gate.site), leave)
        return found


def channel_key(group: Group) -> tuple[object, ...]:
    """Give what tells communicators apart as far as a group's own facts go."""
    return (*group.partition, group.identity)


def _head(
    kind: str,
    group: Group,
    root: Expr | None,
    signature: tuple[str, ...],
    agree: tuple[Expr, ...],
    keys: tuple[str, ...],
    handle: str,
) -> tuple[Any, ...]:
    where = None if root is None else root.id
    return (kind, channel_key(group), where, signature, tuple(item.id for item in agree), keys, handle)


def _joined(groups: tuple[Group, ...], below: tuple[Node, ...]) -> tuple[Group, ...]:
    first = below[0].groups if below else ()
    if len(below) == 1 and len(groups) < 2 and (not groups or groups[0] in first):
        return first
    if all(node.groups is first or not node.groups for node in below) and all(group in first for group in groups):
        return first
    found = dict.fromkeys((*groups, *(group for node in below for group in node.groups)))
    return tuple(sorted(found, key=lambda group: (str(channel_key(group)), group.name, group.weak)))


def _flipped(gate: Gate) -> Gate:
    leaves_if = not gate.leaves_if
    return Gate(gate.site, gate.form, gate.leaves, leaves_if, gate.end_line, gate.exit_site, not gate.flipped)


def _liftable(first: Op, second: Op, condition: Expr) -> bool:
    if _op_head(first) != _op_head(second):
        return False
    if not first.into and not second.into:
        return True
    return not _reads(condition, {*first.into, *second.into})


def _op_head(op: Op) -> tuple[Any, ...]:
    return _head(op.kind, op.group, op.root, op.signature, op.agree, op.keys, op.handle)


def _reads(expr: Expr, slots: set[str]) -> bool:
    if expr.op == "recv":
        return expr.args[0] in slots
    return any(_reads(arg, slots) for arg in expr.args if isinstance(arg, Expr))
