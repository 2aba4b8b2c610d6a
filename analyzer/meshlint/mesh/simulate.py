"""The one semantics of protocols: every rank walks the term on a small mesh, and instances of groups fire.

A rank is a generator that runs until it blocks. An operation joins the queue of its rank on its communicator; an
instance fires when all its members stand at equal heads, and then a broadcast hands the root's value to every member.
An async operation never blocks, its wait does. Facts that are not computed are decided on first use and replayed:
config and opaque ones must be safe in every choice (`opaque` one choice for each setting of its dims, local one for
each rank), contracts in some choice (see `refuting_run`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import field
from typing import Any

from meshlint.mesh.choose import Facts, expressions, meshes, parts
from meshlint.mesh.contract import alone, decisive, doubtful, quantifier, refuting_run
from meshlint.mesh.dims import Axes, Mesh
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse
from meshlint.mesh.gate import Expr, Origin, atoms
from meshlint.mesh.group import Group
from meshlint.mesh.run import RUN_CAP, Choice, Event, Options, Run, Stuck, Taken, Verdict, gate_key
from meshlint.mesh.term import (
    Alt,
    Break,
    Exit,
    Loop,
    Nil,
    Node,
    Op,
    Opaque,
    Return,
    Wait,
    walk,
)
from meshlint.records import dataclass

STEP_CAP = 20_000
TRIP_CAP = 64
OTHER = "<other>"
"""A value that is none of those a program compares with."""

SENDS = frozenset({"send", "isend"})
RECEIVES = frozenset({"recv", "irecv"})
"""Point to point: `root` is the peer's global rank, and a send never blocks."""

REDUCES = frozenset({"reduce", "gather", "scatter", "gather_object", "scatter_object_list", "reduce_scatter"})
"""Rooted (or divided) operations after which members hold different values."""


class Exhausted(Exception):  # noqa: N818  (a bound was reached: no verdict)
    """The simulation reached a bound."""


_Key = tuple[int, tuple[int, ...]]
"""A fact: its atom's id, and the coordinates that it is decided for."""


@dataclass(slots=True)
class _Pending:
    op: Op
    rank: int
    agree: tuple[Any, ...]
    root: Any
    value: tuple[Any, tuple[_Key, ...]] | None
    done: bool = False
    number: int = -1


@dataclass(slots=True)
class _Instance:
    group: Group
    members: tuple[int, ...]
    queues: dict[int, deque[_Pending]]
    fired: int = 0


@dataclass(slots=True)
class Plan:
    """A term made ready for many runs on one mesh: layouts, communicators and the values that facts can take."""

    term: Node
    layout: Layout
    channels: dict[Group, int]
    domains: dict[int, tuple[Any, ...]]
    forced: dict[object, Any]
    options: Options


def prepare(term: Node, mesh: Mesh, options: Options) -> Plan:
    """Make a term ready to run on `mesh`."""
    return Plan(term, Layout(mesh), channels(term.groups), domains(term), dict(options.forced), options)


def channels(groups: tuple[Group, ...]) -> dict[Group, int]:
    """Number the communicators: groups of one partition are one, unless all their identities are known and differ."""
    unknown = {group.partition for group in groups if not group.identity}
    numbers: dict[object, int] = {}
    table: dict[Group, int] = {}
    for group in groups:
        key = (group.partition, "" if group.partition in unknown else group.identity)
        table[group] = numbers.setdefault(key, len(numbers))
    return table


def domains(term: Node) -> dict[int, tuple[Any, ...]]:
    """Give the values that each atom and received value takes: what the program can tell apart."""
    found = expressions(term)
    counted, compared, numbers, texts = _uses(term, found)
    rounds = _rounds(term)
    table: dict[int, tuple[Any, ...]] = {}
    for expr in parts(found):
        if expr.op not in ("atom", "recv"):
            continue
        if expr.id in rounds:
            table[expr.id] = (2, 1)
        elif expr.id in counted or (expr.op == "atom" and expr.args[2]):
            table[expr.id] = _count_domain(numbers)
        elif expr.id in compared:
            table[expr.id] = (*(texts if expr.op == "recv" else sorted(compared[expr.id], key=repr)), OTHER)
        else:
            table[expr.id] = (True, False)
    return table


def _rounds(term: Node) -> set[int]:
    """Give the unknown counts that do nothing but repeat events: that there may be no round at all explains nothing."""
    trips = {node.trip.id for node in walk(term) if isinstance(node, Loop) and node.body.groups and _unknown(node.trip)}
    others = [expr for expr in expressions(term) if expr.id not in trips]
    return trips - {expr.id for expr in parts(tuple(others))}


def _unknown(expr: Expr) -> bool:
    return expr.op == "atom" and not expr.var and expr.args[1] is Origin.UNKNOWN


def _uses(term: Node, found: tuple[Expr, ...]) -> tuple[set[int], dict[int, set[Any]], set[int], tuple[Any, ...]]:
    counted = {node.trip.id for node in walk(term) if isinstance(node, Loop)}
    compared: dict[int, set[Any]] = {}
    numbers: set[int] = set()
    texts: dict[Any, None] = {}
    for expr in parts(found):
        if expr.op in ("<", "<=", "+", "-", "*", "//", "%", "min", "max"):
            counted |= {arg.id for arg in expr.args}
        if expr.op not in ("==", "<", "<="):
            continue
        for side, other in (expr.args, expr.args[::-1]):
            if other.op != "lit" or side.op not in ("atom", "recv"):
                continue
            literal = other.args[0]
            if isinstance(literal, int) and not isinstance(literal, bool):
                counted.add(side.id)
                numbers.add(literal)
            else:
                compared.setdefault(side.id, set()).add(literal)
                texts[literal] = None
    return counted, compared, numbers, tuple(texts)


def _count_domain(numbers: set[int]) -> tuple[int, ...]:
    near = {value for number in numbers if 1 < number <= TRIP_CAP for value in (number - 1, number, number + 1)}
    return tuple(dict.fromkeys((2, 1, 0, *sorted(near)[:3])))


@dataclass(slots=True)
class _Decided:
    atom: Expr
    setting: tuple[int, ...]
    domain: tuple[Any, ...]
    index: int
    asked: set[int]


@dataclass(slots=True)
class _Simulation:
    """One run in progress."""

    plan: Plan
    prefix: list[int]
    decided: dict[_Key, _Decided] = field(default_factory=dict)
    instances: dict[tuple[int, tuple[int, ...]], _Instance] = field(default_factory=dict)
    views: list[View] = field(default_factory=list)
    events: list[list[_Pending]] = field(default_factory=list)
    owners: dict[int, _Instance] = field(default_factory=dict)
    paths: list[list[Taken]] = field(default_factory=list)
    left: list[Exit | None] = field(default_factory=list)
    blurred: list[list[Opaque]] = field(default_factory=list)
    sources: list[dict[str, tuple[_Key, ...]]] = field(default_factory=list)
    consulted: dict[_Key, None] | None = None
    """The facts that the value which is worked out rests on; None where nobody wants to know."""
    steps: int = 0

    def run(self) -> Run:
        """Run every rank until none can go on."""
        world = self.plan.layout.mesh.world
        for rank in range(world):
            self.views.append(self.view(rank))
            self.sources.append({})
            self.events.append([])
            self.paths.append([])
            self.left.append(None)
            self.blurred.append([])
        walkers = [self.walk(rank) for rank in range(world)]
        waits: list[_Pending | None] = [next(walker, None) for walker in walkers]
        moved = True
        while moved:
            moved = False
            for rank, pending in enumerate(waits):
                if pending is not None and pending.done:
                    waits[rank] = next(walkers[rank], None)
                    moved = True
        result = self._result()
        for view in self.views:  # they know this simulation, which knows them: no need to wait for the collector
            view.decide, view.read = refuse, None
        return result

    def alone(self, run: Run, rank: int) -> list[Op]:
        """Give every operation that `rank` comes to if none of them ever blocks, under the decisions of `run`."""
        for choice in run.choices:
            self.decided[choice.key] = _Decided(choice.atom, choice.setting, (choice.value,), 0, set())
        for other in range(self.plan.layout.mesh.world):
            self.views.append(self.view(other))
            self.sources.append({})
            self.paths.append([])
            self.left.append(None)
            self.blurred.append([])
        self.views[rank].slots.update(run.slots[rank])
        found: list[Op] = []
        node: Node | None = self.plan.term
        loops: list[list[Any]] = []
        while node is not None and self.steps < STEP_CAP:
            self.steps += 1
            if isinstance(node, Op):
                found.append(node)
            node = node.rest if isinstance(node, (Op, Wait)) else self.step(node, rank, loops)
        return found

    def view(self, rank: int) -> View:
        """Make what one rank sees."""

        decided, project, free = self.decided, self.plan.layout.project, self.plan.options.free_locals

        def decide(expr: Expr) -> Any:
            """Decide a fact on first use; the prefix replays earlier decisions."""
            if expr.local:
                setting: tuple[int, ...] = (rank,) if free else ()
            else:
                setting = project(rank, expr.var) if expr.var else ()
            key = (expr.id, setting)
            found = decided.get(key)
            if found is None:
                found = self.first(expr, setting)
            found.asked.add(rank)
            if self.consulted is not None:
                self.consulted[key] = None
            return found.domain[found.index]

        def read(slot: str) -> None:
            for key in self.sources[rank].get(slot, ()):
                self.ask(self.decided[key], rank)

        return View(self.plan.layout, rank, decide, read=read)

    def walk(self, rank: int) -> Generator[_Pending, None, None]:
        """Walk the term as one rank; yields what it waits for."""
        node: Node | None = self.plan.term
        loops: list[list[Any]] = []
        handles: dict[str, _Pending] = {}
        path, view, forced = self.paths[rank], self.views[rank], bool(self.plan.forced)
        while node is not None:
            self.steps += 1
            if self.steps > STEP_CAP:
                raise Exhausted
            if isinstance(node, Alt):
                condition = node.condition
                value = bool(self.chosen(node, condition, rank) if forced else evaluate(condition, view))
                path.append(Taken(node, value))
                node = node.then if value else node.otherwise
            elif isinstance(node, Op):
                pending = self.issue(node, rank)
                if pending is not None and node.handle:
                    handles[node.handle] = pending
                if pending is not None and (not node.handle or self.plan.options.strict_async):
                    while not pending.done:
                        yield pending
                node = node.rest
            elif isinstance(node, Wait):
                waited = handles.get(node.handle)
                while waited is not None and not waited.done:
                    yield waited
                node = node.rest
            else:
                node = self.step(node, rank, loops)

    def step(self, node: Node, rank: int, loops: list[list[Any]]) -> Node | None:
        """Take one step that no other rank takes part in."""
        if isinstance(node, Alt):
            value = bool(self.chosen(node, node.condition, rank))
            self.paths[rank].append(Taken(node, value))
            return node.then if value else node.otherwise
        if isinstance(node, Loop):
            return self.enter(node, rank, loops)
        if isinstance(node, Opaque):
            self.blurred[rank].append(node)
            return node.rest
        if isinstance(node, Exit):
            self.left[rank] = node
            return None
        if not loops:
            return None
        loop, trips = loops[-1]
        if isinstance(node, Nil) and trips > 1:
            loops[-1][1] -= 1
            body: Node = loop.body
            return body
        loops.pop()
        after: Node = loop.after_return if isinstance(node, Return) else loop.rest
        assert isinstance(node, (Nil, Break, Return))
        return after

    def enter(self, node: Loop, rank: int, loops: list[list[Any]]) -> Node:
        """Begin a loop, or pass it by."""
        value = self.chosen(node, node.trip, rank)
        trips = min(value, TRIP_CAP) if isinstance(value, int) else 1
        self.paths[rank].append(Taken(node, trips))
        if trips <= 0:
            return node.rest
        loops.append([node, trips])
        return node.body

    def chosen(self, node: Alt | Loop, expr: Expr, rank: int) -> Any:
        """Compute a condition or a trip, unless it is forced."""
        forced = self.plan.forced
        if forced and (key := gate_key(node)) in forced:
            return forced[key]
        return evaluate(expr, self.views[rank])

    def first(self, expr: Expr, setting: tuple[int, ...]) -> _Decided:
        """Decide a fact for the coordinates that it is a function of."""
        place = len(self.decided)
        index = self.prefix[place] if place < len(self.prefix) else 0
        domain = self.plan.domains.get(expr.id, (True, False))
        found = self.decided[expr.id, setting] = _Decided(expr, setting, domain, index, set())
        return found

    def ask(self, fact: _Decided, rank: int) -> None:
        """Remember that a rank knows a fact by a value that was sent to it."""
        fact.asked.add(rank)
        if self.consulted is not None:
            self.consulted[fact.atom.id, fact.setting] = None

    def issue(self, op: Op, rank: int) -> _Pending | None:
        """Put an operation into the queue of its instance; None for a rank that is no member."""
        if op.kind in SENDS or op.kind in RECEIVES:
            return self.issue_to_peer(op, rank)
        members = self.plan.layout.members(op.group, rank)
        if members is None:
            return None
        view = self.views[rank]
        root = None if op.root is None else evaluate(op.root, view)
        agree = tuple(evaluate(item, view) for item in op.agree) if op.agree else ()
        pending = _Pending(op, rank, agree, root, None)
        if op.value is not None and rank == (members[0] if root is None else root):
            self.consulted = {}
            pending.value = (evaluate(op.value, view), tuple(self.consulted))
            self.consulted = None
        self.join((self.plan.channels[op.group], members), members, pending)
        return pending

    def issue_to_peer(self, op: Op, rank: int) -> _Pending | None:
        """Put a send or receive into the queue of its direction; a peer that is not there is no event."""
        peer = None if op.root is None else evaluate(op.root, self.views[rank])
        if not isinstance(peer, int) or not 0 <= peer < len(self.views) or peer == rank:
            return None
        members = (rank, peer) if op.kind in SENDS else (peer, rank)
        pending = _Pending(op, rank, (), None, None)
        self.join((-1 - self.plan.channels[op.group], members), members, pending)
        return None if op.kind in SENDS else pending

    def join(self, key: tuple[int, tuple[int, ...]], members: tuple[int, ...], pending: _Pending) -> None:
        """Let an operation stand at the end of its rank's queue."""
        instance = self.instances.get(key)
        if instance is None:
            queues: dict[int, deque[_Pending]] = {member: deque() for member in members}
            instance = self.instances[key] = _Instance(pending.op.group, members, queues)
        instance.queues[pending.rank].append(pending)
        self.events[pending.rank].append(pending)
        self.owners[id(pending)] = instance
        self.fire(instance)

    def fire(self, instance: _Instance) -> None:
        """Match heads as long as all members stand at equal ones."""
        while all(instance.queues.values()):
            heads = [instance.queues[member][0] for member in instance.members]
            if _verdict_of(heads, instance.members):
                return
            value = _sent(heads)
            for head in heads:
                instance.queues[head.rank].popleft()
                head.done, head.number = True, instance.fired
                self.receive(head, value)
            instance.fired += 1

    def receive(self, pending: _Pending, value: tuple[Any, tuple[_Key, ...]] | None) -> None:
        """Leave the matched value in the slots of a member, and what it was computed from."""
        slots = self.views[pending.rank].slots
        for slot in pending.op.into:
            if value is None or pending.op.kind in REDUCES:
                slots.pop(slot, None)
            else:
                slots[slot] = value[0]
                self.sources[pending.rank][slot] = value[1]

    def _result(self) -> Run:
        stuck = tuple(self._stuck())
        choices = tuple(
            Choice(item.atom, item.setting, item.domain[item.index], tuple(sorted(item.asked)))
            for item in self.decided.values()
        )
        events = tuple(
            tuple(Event(p.op, p.rank, self.owners[id(p)].members, p.number) for p in pendings)
            for pendings in self.events
        )
        paths = tuple(tuple(path) for path in self.paths)
        slots = tuple(view.slots for view in self.views)
        excluded = self._raised() or self._blurry(stuck)
        return Run(self.plan.layout.mesh, stuck, events, paths, choices, tuple(self.left), slots, excluded)

    def _stuck(self) -> Iterator[Stuck]:
        for instance in self.instances.values():
            arrived = tuple((rank, queue[0].op) for rank, queue in sorted(instance.queues.items()) if queue)
            if not arrived:
                continue
            missing = tuple(rank for rank in instance.members if not instance.queues[rank])
            heads = [instance.queues[rank][0] for rank, _ in arrived]
            how = _verdict_of(heads, instance.members) or "wait"
            yield Stuck(instance.group, instance.members, arrived, missing, how)

    def _raised(self) -> bool:
        """Say whether a rank left on an outside fact: such a run ends with that error, not with a hang."""
        return any(
            left is not None and path and _outside(path[-1], self.plan.options)
            for left, path in zip(self.left, self.paths, strict=True)
        )

    def _blurry(self, stuck: tuple[Stuck, ...]) -> bool:
        """Say whether something unknown may explain what is stuck: members passed different unknowns."""
        for item in stuck:
            seen = {tuple(node.shape for node in self.blurred[rank]) for rank in item.members}
            if len(seen) > 1:
                return True
        return False


def trace_alone(plan: Plan, run: Run, rank: int) -> list[Op]:
    """Give every operation that `rank` comes to if none of them ever blocks, under the decisions of `run`."""
    return _Simulation(plan, []).alone(run, rank)


def _sent(heads: list[_Pending]) -> tuple[Any, tuple[_Key, ...]] | None:
    """Give the value that the root of matched heads sends; a root that only some name is the root of all."""
    root = next((head.root for head in heads if head.root is not None), None)
    for head in heads:
        if head.value is not None and (root is None or head.rank == root):
            return head.value
    return None


def _verdict_of(heads: list[_Pending], members: tuple[int, ...]) -> str:
    """Give why heads cannot match: `clash`, `root`, or "" where they can."""
    first = heads[0]
    for head in heads[1:]:
        if not matches(first.op, head.op) or first.agree != head.agree:
            return "clash"
    roots = [head.root for head in heads if head.root is not None]
    if any(root != roots[0] for root in roots):
        return "clash"
    root = roots[0] if roots else None
    if isinstance(root, int) and not isinstance(root, bool) and len(heads) == len(members) and root not in members:
        return "root"
    return ""


def matches(first: Op, second: Op) -> bool:
    """Say whether two operations can be one event as far as their kind and known sizes go."""
    if first.kind != second.kind and not _meet(first.kind, second.kind):
        return False
    return not first.signature or not second.signature or first.signature == second.signature


def _meet(first: str, second: str) -> bool:
    return (first in SENDS and second in RECEIVES) or (first in RECEIVES and second in SENDS)


def _outside(taken: Taken, options: Options) -> bool:
    node = taken.node
    facts = atoms(node.condition if isinstance(node, Alt) else node.trip)
    if not facts:
        return False
    return all(not fact.var or (fact.local and not options.free_locals) for fact in facts)


def runs_of(plan: Plan) -> Iterator[Run]:
    """Give every run, one for each combination of decisions. Raises Exhausted at a bound, Unresolvable by the mesh."""
    prefix: list[int] = []
    for _ in range(plan.options.run_cap):
        simulation = _Simulation(plan, prefix)
        yield simulation.run()
        made = list(simulation.decided.values())
        while made and made[-1].index + 1 == len(made[-1].domain):
            made.pop()
        if not made:
            return
        prefix = [item.index for item in made]
        prefix[-1] += 1
    raise Exhausted


def simulate_on(term: Node, mesh: Mesh, options: Options | None = None) -> Verdict:
    """Simulate on one mesh; without a verdict at a bound. Raises Unresolvable where the mesh gives a group no sense."""
    chosen = options or Options()
    runs: list[Run] = []
    try:
        for run in runs_of(prepare(term, mesh, chosen)):
            runs.append(run)
            if run.fails and decisive(run, chosen):
                return Verdict(run, True, len(runs), mesh)
    except Exhausted:
        return Verdict(None, False, len(runs), mesh)
    refuting = refuting_run(runs, chosen)
    if refuting is not None:
        return Verdict(refuting, True, len(runs), mesh, doubtful(refuting, runs, chosen))
    lone = alone(runs)
    return Verdict(lone if chosen.lone else None, True, len(runs), mesh, chosen.lone, lone is not None)


def simulate(term: Node, axes: Axes, options: Options | None = None, facts: Facts = ()) -> Verdict:
    """Simulate on the smallest feasible meshes: the first fault counts; known only if every mesh could be judged.

    `facts` are tests of sizes that hold (or not) where the term stands.
    """
    known, runs, last, lone = True, 0, None, False
    for mesh in meshes(term, axes, facts):
        try:
            verdict = simulate_on(term, mesh, options)
        except Unresolvable:
            continue
        known, runs, last, lone = known and verdict.known, runs + verdict.runs, mesh, lone or verdict.lone
        if verdict.run is not None:
            return Verdict(verdict.run, True, runs, mesh, verdict.doubtful)
    return Verdict(None, known and last is not None, runs, last, lone=lone)


__all__ = [
    "RUN_CAP",
    "Choice",
    "Event",
    "Exhausted",
    "Options",
    "Run",
    "Stuck",
    "Taken",
    "Verdict",
    "channels",
    "gate_key",
    "prepare",
    "quantifier",
    "refuting_run",
    "runs_of",
    "simulate",
    "simulate_on",
    "trace_alone",
]
