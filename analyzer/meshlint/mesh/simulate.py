"""The one semantics of protocols: every rank walks the term on a small mesh, and instances of groups fire.

A rank is a generator that runs until it blocks. An operation joins the queue of its rank on its communicator; an
instance fires when all its members stand at equal heads, and then a broadcast hands the root's value to every member.
An async operation never blocks, its wait does. Facts that are not computed are decided on first use and replayed:
config and opaque ones must be safe in every choice (`opaque` one choice for each setting of its dims, local one for
each rank), contracts in some choice (see `refuting_run`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from meshlint.mesh.choose import Facts, meshes
from meshlint.mesh.contract import alone, decisive, doubtful, quantifier, refuting_run
from meshlint.mesh.dims import Axes, Mesh
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse
from meshlint.mesh.form import TRIP_CAP, Form, channels, form_of
from meshlint.mesh.gate import Expr, atoms
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
)
from meshlint.records import dataclass

STEP_CAP = 20_000
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
    home: _Instance | None = None
    done: bool = False
    number: int = -1


@dataclass(slots=True)
class _Instance:
    """`queues` holds all that each member ever came to; the first `fired` of each have matched."""

    group: Group
    members: tuple[int, ...]
    queues: dict[int, list[_Pending]]
    fired: int = 0

    def heads(self) -> list[_Pending]:
        """Give what members wait in."""
        fired = self.fired
        return [queue[fired] for queue in self.queues.values() if len(queue) > fired]


@dataclass(slots=True)
class Plan:
    """A term made ready for many runs on one mesh."""

    form: Form
    layout: Layout
    options: Options
    forced: dict[int, Any]
    """The sides and trips that are forced, by the ids of the nodes."""

    @property
    def term(self) -> Node:
        """The term."""
        return self.form.term


@dataclass(slots=True)
class _Outcome:
    """What the runs of a form come to on a mesh; `shown` chooses the run that shows a fault, None where there is none.

    It holds the index of the value of each fact, in the order of deciding. The rest is as in `Verdict`.
    """

    shown: tuple[int, ...] | None
    known: bool
    runs: int
    doubtful: bool = False
    lone: bool = False


@dataclass(slots=True)
class Bench:
    """What simulations share: forms of the terms of one table, by id, layouts of meshes, and what was found so far."""

    forms: dict[int, Form] = field(default_factory=dict)
    layouts: dict[Mesh, Layout] = field(default_factory=dict)
    outcomes: dict[tuple[object, ...], _Outcome] = field(default_factory=dict)

    def plan(self, term: Node, mesh: Mesh, options: Options) -> Plan:
        """Make a term ready to run on a mesh."""
        form = self.forms.get(term.id)
        if form is None:
            form = self.forms[term.id] = form_of(term)
        layout = self.layouts.get(mesh)
        if layout is None:
            layout = self.layouts[mesh] = Layout(mesh)
        return Plan(form, layout, options, form.forced(options))

    def forget(self) -> None:
        """Let go of what is asked for again only while one term is judged."""
        self.forms.clear()
        self.layouts.clear()


def prepare(term: Node, mesh: Mesh, options: Options) -> Plan:
    """Make a term ready to run on `mesh`."""
    return Bench().plan(term, mesh, options)


@dataclass(slots=True)
class _Decided:
    atom: Expr
    setting: tuple[int, ...]
    domain: tuple[Any, ...]
    index: int
    asked: int = 0
    """The ranks that asked, as bits."""


@dataclass(slots=True)
class _Loops:
    """The loops that a rank is in, the innermost first: rounds that are left, and the loops around it."""

    loop: Loop
    trips: int
    outer: _Loops | None


@dataclass(slots=True)
class _Mark:
    """The state of a run just before the step in which a fact was decided first."""

    turn: int
    starting: bool
    moved: bool
    steps: int
    nodes: list[Node | None]
    waits: list[_Pending | None]
    loops: list[_Loops | None]
    handles: list[dict[str, _Pending]]
    slots: list[dict[str, Any]]
    sources: list[dict[str, tuple[_Key, ...]]]
    left: list[Exit | None]
    paths: list[int]
    events: list[int]
    blurred: list[int]
    instances: int
    fires: int
    told: int
    unmatched: int


@dataclass(slots=True)
class _Ending:
    """How a run ended, and what was chosen in it: each fact, the index of its value, and who asked, as bits."""

    stuck: tuple[Stuck, ...]
    excluded: bool
    chosen: list[tuple[_Decided, int, int]]

    @property
    def fails(self) -> bool:
        """Whether the run shows a deadlock."""
        return bool(self.stuck) and not self.excluded

    @property
    def indices(self) -> tuple[int, ...]:
        """The index of the value of each fact, in order."""
        return tuple([at for _, at, _ in self.chosen])

    def choices(self) -> tuple[Choice, ...]:
        """Give what was chosen, in order."""
        return tuple([Choice(one.atom, one.setting, one.domain[at], _ranks(asked)) for one, at, asked in self.chosen])

    def run(self, mesh: Mesh) -> Run:
        """Give the run as far as a verdict asks for it: without what each rank did."""
        return Run(mesh, self.stuck, (), (), self.choices(), (), (), self.excluded)


def _ranks(bits: int) -> tuple[int, ...]:
    return tuple([rank for rank in range(bits.bit_length()) if bits >> rank & 1])


@dataclass(slots=True)
class _Simulation:
    """Runs of one plan, one after the other.

    Runs that share their first decisions share what comes before the next one: to choose anew, the state goes back to
    where that fact was decided (`_Mark`), and the ranks go on from there. What a rank did and what an instance saw only
    grows, so that going back cuts it off; the rest of the state is replaced, never changed, but for what `fires` and
    `told` remember. A step changes nothing before it has computed all that it asks for: it can be taken again.
    """

    plan: Plan
    shown: tuple[int, ...] | None = None
    """Of a run that is to be shown, the index of the value of each fact, in the order of deciding."""
    made: list[_Decided] = field(default_factory=list)
    marks: list[_Mark | None] = field(default_factory=list)
    """For each decided fact where to go back to; None for one that has no other value."""
    decided: dict[_Key, _Decided] = field(default_factory=dict)
    instances: dict[tuple[int, tuple[int, ...]], _Instance] = field(default_factory=dict)
    views: list[View] = field(default_factory=list)
    nodes: list[Node | None] = field(default_factory=list)
    """Where each rank stands."""
    waits: list[_Pending | None] = field(default_factory=list)
    """What it waits for."""
    loops: list[_Loops | None] = field(default_factory=list)
    handles: list[dict[str, _Pending]] = field(default_factory=list)
    events: list[list[_Pending]] = field(default_factory=list)
    paths: list[list[tuple[Alt | Loop, Any]]] = field(default_factory=list)
    left: list[Exit | None] = field(default_factory=list)
    blurred: list[list[Opaque]] = field(default_factory=list)
    sources: list[dict[str, tuple[_Key, ...]]] = field(default_factory=list)
    fires: list[_Instance] = field(default_factory=list)
    """The instances that fired, in order."""
    told: list[tuple[_Decided, int]] = field(default_factory=list)
    """The facts that a rank asked for that had not, in order, and who had asked before."""
    consulted: dict[_Key, None] | None = None
    """The facts that the value which is worked out rests on; None where nobody wants to know."""
    unmatched: int = 0
    """How many operations stand in queues."""
    steps: int = 0
    turn: int = 0
    """The rank whose turn it is."""
    starting: bool = True
    """Whether this is the first round, in which every rank sets out."""
    moved: bool = False
    """Whether some rank went on in this round."""

    def run(self) -> Run:
        """Run once, every rank until none can go on."""
        self.begin()
        self.go_on()
        result = self.whole()
        self.end()
        return result

    def endings(self) -> Iterator[_Ending]:
        """Give the ending of every run, one for each combination of decisions. Raises Exhausted at a bound."""
        self.begin()
        self.go_on()
        for _ in range(self.plan.options.run_cap):
            yield self.ending()
            if not self.chosen_anew():
                return
            self.walk(self.turn)
            self.turn += 1
            self.go_on()
        raise Exhausted

    def begin(self) -> None:
        """Put every rank at the start."""
        for rank in range(self.plan.layout.mesh.world):
            self.views.append(self.view(rank))
            self.nodes.append(self.plan.term)
            self.waits.append(None)
            self.loops.append(None)
            self.handles.append({})
            self.sources.append({})
            self.events.append([])
            self.paths.append([])
            self.left.append(None)
            self.blurred.append([])

    def end(self) -> None:
        """Let go of the views: they know this simulation, which knows them, and need not wait for the collector."""
        for view in self.views:
            view.decide, view.read = refuse, None

    def go_on(self) -> None:
        """Let ranks go on, each in its turn, until none can."""
        waits, world = self.waits, len(self.nodes)
        while True:
            while self.turn < world:
                pending = waits[self.turn]
                if self.starting or (pending is not None and pending.done):
                    self.moved = True
                    self.walk(self.turn)
                self.turn += 1
            if not self.moved:
                return
            self.turn, self.moved, self.starting = 0, False, False

    def chosen_anew(self) -> bool:
        """Go back to the last fact that has another value, and give it the next one; false where none has."""
        made, marks = self.made, self.marks
        while made and (made[-1].index + 1 == len(made[-1].domain) or marks[-1] is None):
            self.forget(made.pop())
            marks.pop()
        if not made:
            return False
        mark = marks[-1]
        assert mark is not None
        self.go_back(mark)
        made[-1].index += 1
        return True

    def forget(self, fact: _Decided) -> None:
        """Take back a decision."""
        del self.decided[fact.atom.id, fact.setting]

    def mark(self) -> _Mark:
        """Note the state before this step."""
        return _Mark(
            self.turn,
            self.starting,
            self.moved,
            self.steps - 1,
            self.nodes[:],
            self.waits[:],
            self.loops[:],
            self.handles[:],
            [view.slots for view in self.views],
            self.sources[:],
            self.left[:],
            [len(path) for path in self.paths],
            [len(events) for events in self.events],
            [len(nodes) for nodes in self.blurred],
            len(self.instances),
            len(self.fires),
            len(self.told),
            self.unmatched,
        )

    def go_back(self, mark: _Mark) -> None:
        """Make the state what it was at a mark: the rank whose turn it is is about to go on."""
        self.take_back(mark)
        self.turn, self.starting, self.moved, self.steps = mark.turn, mark.starting, mark.moved, mark.steps
        self.consulted, self.unmatched = None, mark.unmatched
        self.nodes[:], self.waits[:], self.loops[:] = mark.nodes, mark.waits, mark.loops
        self.handles[:], self.sources[:], self.left[:] = mark.handles, mark.sources, mark.left
        for rank, view in enumerate(self.views):
            view.slots = mark.slots[rank]
            del self.paths[rank][mark.paths[rank] :]
            del self.blurred[rank][mark.blurred[rank] :]

    def take_back(self, mark: _Mark) -> None:
        """Take back what matched, what was issued, and who asked."""
        fires, told = self.fires, self.told
        while len(fires) > mark.fires:
            instance = fires.pop()
            instance.fired -= 1
            for queue in instance.queues.values():
                head = queue[instance.fired]
                head.done, head.number = False, -1
        for rank, events in enumerate(self.events):
            while len(events) > mark.events[rank]:
                pending = events.pop()
                assert pending.home is not None
                pending.home.queues[rank].pop()
        while len(self.instances) > mark.instances:
            self.instances.popitem()
        while len(told) > mark.told:
            fact, asked = told.pop()
            fact.asked = asked

    def alone(self, run: Run, rank: int) -> list[Op]:
        """Give every operation that `rank` comes to if none of them ever blocks, under the decisions of `run`."""
        for choice in run.choices:
            self.decided[choice.key] = _Decided(choice.atom, choice.setting, (choice.value,), 0)
        self.begin()
        self.views[rank].slots.update(run.slots[rank])
        found: list[Op] = []
        node: Node | None = self.plan.term
        while node is not None and self.steps < STEP_CAP:
            self.steps += 1
            if isinstance(node, Op):
                found.append(node)
            node = node.rest if isinstance(node, (Op, Wait)) else self.step(node, rank)
        self.end()
        return found

    def view(self, rank: int) -> View:
        """Make what one rank sees."""

        decided, told, bit = self.decided, self.told, 1 << rank
        keys: dict[int, _Key] = {}

        def decide(expr: Expr) -> Any:
            """Decide a fact on first use."""
            key = keys.get(expr.id)
            if key is None:
                key = keys[expr.id] = (expr.id, self.setting(expr, rank))
            found = decided.get(key)
            if found is None:
                found = self.first(expr, key)
            if not found.asked & bit:
                told.append((found, found.asked))
                found.asked |= bit
            if self.consulted is not None:
                self.consulted[key] = None
            return found.domain[found.index]

        def read(slot: str) -> None:
            for key in self.sources[rank].get(slot, ()):
                self.ask(key, rank)

        return View(self.plan.layout, rank, decide, read=read)

    def setting(self, expr: Expr, rank: int) -> tuple[int, ...]:
        """Give the coordinates that a fact is a function of, where a rank is."""
        if expr.local:
            return (rank,) if self.plan.options.free_locals else ()
        return self.plan.layout.project(rank, expr.var) if expr.var else ()

    def first(self, expr: Expr, key: _Key) -> _Decided:
        """Decide a fact for the coordinates that it is a function of."""
        domain, shown = self.plan.form.domains.get(expr.id, (True, False)), self.shown
        index = 0 if shown is None else shown[len(self.made)]
        found = self.decided[key] = _Decided(expr, key[1], domain, index)
        self.made.append(found)
        self.marks.append(None if shown is not None or len(domain) == 1 else self.mark())
        return found

    def ask(self, key: _Key, rank: int) -> None:
        """Remember that a rank knows a fact by a value that was sent to it."""
        fact = self.decided[key]
        self.told.append((fact, fact.asked))
        fact.asked |= 1 << rank
        if self.consulted is not None:
            self.consulted[key] = None

    def walk(self, rank: int) -> None:
        """Let a rank go on until it waits for something, or comes to its end."""
        view, path, forced = self.views[rank], self.paths[rank], bool(self.plan.forced)
        self.waits[rank] = None
        node = self.nodes[rank]
        while node is not None:
            self.steps += 1
            if self.steps > STEP_CAP:
                raise Exhausted
            if isinstance(node, Alt):
                condition = node.condition
                value = bool(self.chosen(node, condition, rank) if forced else evaluate(condition, view))
                path.append((node, value))
                node = node.then if value else node.otherwise
            elif isinstance(node, Op):
                waited = self.act(node, rank)
                node = node.rest
                if waited is not None and not waited.done:
                    self.waits[rank], self.nodes[rank] = waited, node
                    return
            elif isinstance(node, Wait):
                waited = self.handles[rank].get(node.handle)
                node = node.rest
                if waited is not None and not waited.done:
                    self.waits[rank], self.nodes[rank] = waited, node
                    return
            else:
                node = self.step(node, rank)
            self.nodes[rank] = node

    def act(self, op: Op, rank: int) -> _Pending | None:
        """Issue an operation; gives it if the rank has to wait until it matched."""
        pending = self.issue(op, rank)
        if pending is None or not op.handle:
            return pending
        self.handles[rank] = {**self.handles[rank], op.handle: pending}
        return pending if self.plan.options.strict_async else None

    def step(self, node: Node, rank: int) -> Node | None:
        """Take one step that no other rank takes part in."""
        if isinstance(node, Alt):
            value = bool(self.chosen(node, node.condition, rank))
            self.paths[rank].append((node, value))
            return node.then if value else node.otherwise
        if isinstance(node, Loop):
            return self.enter(node, rank)
        if isinstance(node, Opaque):
            self.blurred[rank].append(node)
            return node.rest
        if isinstance(node, Exit):
            self.left[rank] = node
            return None
        here = self.loops[rank]
        if here is None:
            return None
        if isinstance(node, Nil) and here.trips > 1:
            self.loops[rank] = _Loops(here.loop, here.trips - 1, here.outer)
            return here.loop.body
        assert isinstance(node, (Nil, Break, Return))
        self.loops[rank] = here.outer
        return here.loop.after_return if isinstance(node, Return) else here.loop.rest

    def enter(self, node: Loop, rank: int) -> Node:
        """Begin a loop, or pass it by."""
        value = self.chosen(node, node.trip, rank)
        trips = min(value, TRIP_CAP) if isinstance(value, int) else 1
        self.paths[rank].append((node, trips))
        if trips <= 0:
            return node.rest
        self.loops[rank] = _Loops(node, trips, self.loops[rank])
        return node.body

    def chosen(self, node: Alt | Loop, expr: Expr, rank: int) -> Any:
        """Compute a condition or a trip, unless it is forced."""
        forced = self.plan.forced
        return forced[node.id] if node.id in forced else evaluate(expr, self.views[rank])

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
        self.join((self.plan.form.channels[op.group], members), members, pending)
        return pending

    def issue_to_peer(self, op: Op, rank: int) -> _Pending | None:
        """Put a send or receive into the queue of its direction; a peer that is not there is no event."""
        peer = None if op.root is None else evaluate(op.root, self.views[rank])
        if not isinstance(peer, int) or not 0 <= peer < len(self.views) or peer == rank:
            return None
        members = (rank, peer) if op.kind in SENDS else (peer, rank)
        pending = _Pending(op, rank, (), None, None)
        self.join((-1 - self.plan.form.channels[op.group], members), members, pending)
        return None if op.kind in SENDS else pending

    def join(self, key: tuple[int, tuple[int, ...]], members: tuple[int, ...], pending: _Pending) -> None:
        """Let an operation stand at the end of its rank's queue."""
        instance = self.instances.get(key)
        if instance is None:
            queues: dict[int, list[_Pending]] = {member: [] for member in members}
            instance = self.instances[key] = _Instance(pending.op.group, members, queues)
        pending.home = instance
        instance.queues[pending.rank].append(pending)
        self.events[pending.rank].append(pending)
        self.unmatched += 1
        self.fire(instance)

    def fire(self, instance: _Instance) -> None:
        """Match heads as long as all members stand at equal ones."""
        while True:
            heads = instance.heads()
            if len(heads) < len(instance.queues) or _verdict_of(heads, instance.members):
                return
            value = _sent(heads)
            for head in heads:
                head.done, head.number = True, instance.fired
                if head.op.into:
                    self.receive(head, value)
            instance.fired += 1
            self.fires.append(instance)
            self.unmatched -= len(heads)

    def receive(self, pending: _Pending, value: tuple[Any, tuple[_Key, ...]] | None) -> None:
        """Leave the matched value in the slots of a member, and what it was computed from."""
        view, sources = self.views[pending.rank], {**self.sources[pending.rank]}
        slots = {**view.slots}
        for slot in pending.op.into:
            if value is None or pending.op.kind in REDUCES:
                slots.pop(slot, None)
            else:
                slots[slot], sources[slot] = value
        view.slots, self.sources[pending.rank] = slots, sources

    def ending(self) -> _Ending:
        """Give how the run ended."""
        stuck = tuple(self.stuck()) if self.unmatched else ()
        return _Ending(stuck, self.excluded(stuck), [(fact, fact.index, fact.asked) for fact in self.made])

    def whole(self) -> Run:
        """Give all that the run shows."""
        ending = self.ending()
        events = tuple(
            tuple(Event(p.op, p.rank, p.home.members if p.home is not None else (), p.number) for p in pendings)
            for pendings in self.events
        )
        paths = tuple(tuple(Taken(node, value) for node, value in path) for path in self.paths)
        slots = tuple(view.slots for view in self.views)
        mesh, left = self.plan.layout.mesh, tuple(self.left)
        return Run(mesh, ending.stuck, events, paths, ending.choices(), left, slots, ending.excluded)

    def stuck(self) -> Iterator[Stuck]:
        """Give the instances where some member waits."""
        for instance in self.instances.values():
            heads = sorted(instance.heads(), key=lambda head: head.rank)
            if not heads:
                continue
            arrived = tuple([(head.rank, head.op) for head in heads])
            missing = tuple([rank for rank in instance.members if len(instance.queues[rank]) <= instance.fired])
            how = _verdict_of(heads, instance.members) or "wait"
            yield Stuck(instance.group, instance.members, arrived, missing, how)

    def excluded(self, stuck: tuple[Stuck, ...]) -> bool:
        """Say whether the run tells nothing; see `Run`."""
        return self.raised() or self.blurry(stuck)

    def raised(self) -> bool:
        """Say whether a rank left on an outside fact: such a run ends with that error, not with a hang."""
        return any(
            left is not None and path and _outside(path[-1][0], self.plan.options)
            for left, path in zip(self.left, self.paths, strict=True)
        )

    def blurry(self, stuck: tuple[Stuck, ...]) -> bool:
        """Say whether something unknown may explain what is stuck: members passed different unknowns."""
        for item in stuck:
            seen = {tuple(node.shape for node in self.blurred[rank]) for rank in item.members}
            if len(seen) > 1:
                return True
        return False


def trace_alone(plan: Plan, run: Run, rank: int) -> list[Op]:
    """Give every operation that `rank` comes to if none of them ever blocks, under the decisions of `run`."""
    return _Simulation(plan).alone(run, rank)


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


def _outside(node: Alt | Loop, options: Options) -> bool:
    facts = atoms(node.condition if isinstance(node, Alt) else node.trip)
    if not facts:
        return False
    return all(not fact.var or (fact.local and not options.free_locals) for fact in facts)


def runs_of(plan: Plan) -> Iterator[Run]:
    """Give every run, one for each combination of decisions. Raises Exhausted at a bound, Unresolvable by the mesh."""
    simulation = _Simulation(plan)
    try:
        for _ in simulation.endings():
            yield simulation.whole()
    finally:
        simulation.end()


def simulate_on(term: Node, mesh: Mesh, options: Options | None = None, bench: Bench | None = None) -> Verdict:
    """Simulate on one mesh; without a verdict at a bound. Raises Unresolvable where the mesh gives a group no sense."""
    chosen, shared = options or Options(), bench or Bench()
    plan = shared.plan(term, mesh, chosen)
    key = (plan.form.key, mesh, *plan.form.asked(chosen))
    found = shared.outcomes.get(key)
    if found is None:
        found = shared.outcomes[key] = _outcome(plan)
    run = None if found.shown is None else _Simulation(plan, found.shown).run()
    return Verdict(run, found.known, found.runs, mesh, found.doubtful, found.lone)


def _outcome(plan: Plan) -> _Outcome:
    simulation = _Simulation(plan)
    endings: list[_Ending] = []
    mesh = plan.layout.mesh
    try:
        for ending in simulation.endings():
            endings.append(ending)
            if ending.fails and decisive(ending.run(mesh), plan.options):
                return _Outcome(ending.indices, True, len(endings))
    except Exhausted:
        return _Outcome(None, False, len(endings))
    finally:
        simulation.end()
    return _of_all(endings, mesh, plan.options)


def _of_all(endings: list[_Ending], mesh: Mesh, options: Options) -> _Outcome:
    """Say what all runs of one mesh come to."""
    count = len(endings)
    if not any(ending.fails for ending in endings):
        return _Outcome(None, True, count, options.lone)
    runs = [ending.run(mesh) for ending in endings]
    refuting = refuting_run(runs, options)
    if refuting is not None:
        return _Outcome(_indices(refuting, runs, endings), True, count, doubtful(refuting, runs, options))
    lone = alone(runs)
    shown = _indices(lone, runs, endings) if lone is not None and options.lone else None
    return _Outcome(shown, True, count, options.lone, lone is not None)


def _indices(shown: Run, runs: list[Run], endings: list[_Ending]) -> tuple[int, ...]:
    return next(ending for ending, run in zip(endings, runs, strict=True) if run is shown).indices


def simulate(
    term: Node, axes: Axes, options: Options | None = None, facts: Facts = (), bench: Bench | None = None
) -> Verdict:
    """Simulate on the smallest feasible meshes: the first fault counts; known only if every mesh could be judged.

    `facts` are tests of sizes that hold (or not) where the term stands.
    """
    known, runs, last, lone = True, 0, None, False
    shared = bench or Bench()
    for mesh in meshes(term, axes, facts):
        try:
            verdict = simulate_on(term, mesh, options, shared)
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
