"""Which gate is at fault: the innermost one whose forcing, on all ranks, removes the deadlock.

`Judge` takes a term apart at its joins, proves what it can, simulates the rest, and gives the faults. A part that
leaves ranks waiting is no fault if a gate further down balances it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import field, replace
from typing import Any

from meshlint.mesh.choose import Facts, expressions, sizes_only
from meshlint.mesh.dims import Axes
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse, truth
from meshlint.mesh.fast import Prover, divides, varies, weakly
from meshlint.mesh.gate import Expr, atoms, shows_apart
from meshlint.mesh.group import Group
from meshlint.mesh.segment import condition_of, cut, drop_uniform, effort, project
from meshlint.mesh.simulate import RUN_CAP, Bench, Options, Run, Stuck, Verdict, gate_key, simulate, simulate_on
from meshlint.mesh.term import Alt, Exit, Loop, Node, Op, Terms, breaks, children, count, returns, walk
from meshlint.records import dataclass

ROUNDS = 4
"""How many faults of one part are looked for."""

CONFIRM_NODES = 120
CONFIRM_RUNS = 32
"""How large a whole function may be, and how many runs it may take, to be asked whether it explains a fault."""

NESTING_CAP = 50
"""How deep parts may nest that are judged."""

STUCK_CAP = 4
"""How many stuck instances are asked for a gate."""

COPIES = 60_000
"""Nodes that are gone through for the parts of one term: early exits put long parts into each other."""

BALANCE_CAP = 4
BALANCE_REACH = 400
BALANCE_RUNS = 64
"""How many gates further down are tried as the counterpart of one, how far away, with how many runs each."""
BLAME_RUNS = 64
"""Runs in which one forced gate is shown to remove a deadlock."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: a gate, and an instance that it leaves waiting.

    `node` is the blamed branch or loop; None where no gate is involved (roots or lists that differ). `stuck` is the
    instance, `run` the refuting run of `term`, `also` what else is stuck in it. `forced` is the side (or trip) whose
    forcing removes the deadlock. `context` is the part with all that comes after it. `grade`: `mesh`, `async` (only if
    async operations of different groups must keep their order) or `local` (only if rank-local facts differ). `weak`:
    a name, an overlap of unknown sizes or several outside facts at once are involved. `options` are those of the run.
    """

    node: Alt | Loop | None
    stuck: Stuck
    run: Run
    term: Node
    context: Node
    grade: str = "mesh"
    weak: bool = False
    forced: Any = None
    removed: bool = True
    also: tuple[Stuck, ...] = ()
    options: Options = field(default_factory=Options)

    @property
    def key(self) -> tuple[object, ...]:
        """What one finding is about: the gate and the communicator; callers are not part of it."""
        first = self.stuck.arrived[0][1].site.span
        return (self.node.gate.site.span if self.node else first, self.stuck.group.partition)

    @property
    def order(self) -> tuple[object, ...]:
        """The order of findings."""
        op = self.stuck.arrived[0][1]
        return (self.node.gate.site.span if self.node else op.site.span, op.site.span)


@dataclass(frozen=True, slots=True)
class Blame:
    """The outcome of looking for the gate: None where no decision differs."""

    node: Alt | Loop | None
    stuck: Stuck
    forced: Any = None
    removed: bool = False


def first_stuck(run: Run) -> Stuck:
    """Give the stuck instance whose operation stands first in the program."""
    return min(run.stuck, key=_stuck_order)


def _stuck_order(stuck: Stuck) -> tuple[object, ...]:
    return (min(op.site.key for _, op in stuck.arrived), stuck.members)


def differing(run: Run, stuck: Stuck) -> tuple[Alt | Loop, ...]:
    """Give the gates that two members of a stuck instance passed with different decisions, innermost first."""
    found: dict[object, tuple[int, Alt | Loop]] = {}
    for left in stuck.members:
        for right in stuck.members:
            if left < right:
                for place, node in _between(run, left, right):
                    key = gate_key(node)
                    found[key] = max(found.get(key, (place, node)), (place, node), key=lambda item: item[0])
    ordered = sorted(found.values(), key=lambda item: (-item[0], item[1].gate.site.key))
    return tuple(node for _, node in ordered)


def _between(run: Run, left: int, right: int) -> Iterator[tuple[int, Alt | Loop]]:
    one, two = _decisions(run, left), _decisions(run, right)
    for key, (place, node, values) in one.items():
        if key in two and two[key][2] != values:
            yield max(place, two[key][0]), node


def _decisions(run: Run, rank: int) -> dict[object, tuple[int, Alt | Loop, tuple[Any, ...]]]:
    found: dict[object, tuple[int, Alt | Loop, tuple[Any, ...]]] = {}
    for place, taken in enumerate(run.paths[rank]):
        key = gate_key(taken.node)
        before = found.get(key)
        values = (taken.value,) if before is None else (*before[2], taken.value)
        found[key] = (place, taken.node, values)
    return found


def blame(term: Node, run: Run, options: Options, bench: Bench | None = None) -> Blame:
    """Find the gate of a refuting run: forcing it removes every deadlock, or else at least the one it is blamed for.

    The instance that stands first in the program counts, unless its members took every decision alike.
    """
    ordered = sorted(run.stuck, key=_stuck_order)
    for stuck in ordered[:STUCK_CAP]:
        gates = differing(run, stuck)
        if gates:
            return _blamed(term, run, options, stuck, gates, bench or Bench())
    return Blame(None, ordered[0])


def _blamed(term: Node, run: Run, options: Options, stuck: Stuck, gates: tuple[Alt | Loop, ...], bench: Bench) -> Blame:
    partial: Blame | None = None
    for node in gates:
        for value in _sides(run, stuck, node):
            verdict = _forced(term, run, options, (gate_key(node), value), bench)
            if verdict.known and verdict.run is None:
                return Blame(node, stuck, value, True)
            if partial is None and verdict.run is not None and not _again(stuck, verdict.run):
                partial = Blame(node, stuck, value, False)
    return partial or Blame(gates[0], stuck)


def _sides(run: Run, stuck: Stuck, node: Alt | Loop) -> tuple[Any, ...]:
    key = gate_key(node)
    taken = (item.value for rank in stuck.members for item in run.paths[rank] if gate_key(item.node) == key)
    return tuple(sorted(dict.fromkeys(taken), reverse=True))


def _forced(term: Node, run: Run, options: Options, side: tuple[object, Any], bench: Bench) -> Verdict:
    forced = replace(options, forced=(*options.forced, side), run_cap=min(options.run_cap, BLAME_RUNS))
    return simulate_on(term, run.mesh, forced, bench)


def _again(stuck: Stuck, run: Run) -> bool:
    sites = {op.site for _, op in stuck.arrived}
    return any(
        item.group.partition == stuck.group.partition and any(op.site in sites for _, op in item.arrived)
        for item in run.stuck
    )


def without_adversaries(fault: Fault, run_cap: int, bench: Bench | None = None) -> bool:
    """Say whether a fault is there too if no unknown function of coordinates is chosen against the program."""
    if not any(_free_function(choice.atom) for choice in fault.run.choices):
        return True
    shared = fault.options.shared | _ways_out(fault.run)
    options = replace(fault.options, adversaries=False, run_cap=run_cap, shared=shared)
    try:
        run = simulate_on(fault.term, fault.run.mesh, options, bench).run
    except Unresolvable:
        return False
    return run is not None and _again(fault.stuck, run)


def _ways_out(run: Run) -> frozenset[int]:
    """Give the unknown facts by which some ranks alone leave a loop: if they never held, it would never end."""
    found: dict[object, tuple[set[int], Alt]] = {}
    for rank, path in enumerate(run.paths):
        loops = False
        for taken in path:
            loops = loops or isinstance(taken.node, Loop)
            if loops and isinstance(taken.node, Alt) and taken.node.gate.leaves in ("break", "return"):
                found.setdefault(gate_key(taken.node), (set(), taken.node))[0].add(rank)
    alone = [node for ranks, node in found.values() if len(ranks) < run.mesh.world]
    return frozenset(atom.id for node in alone for atom in atoms(node.condition) if _free_function(atom))


def _is_local(node: Node) -> bool:
    """Say whether a node rests on what each rank finds for itself."""
    if isinstance(node, Op):
        return any(expr.local for expr in node.agree)
    return isinstance(node, (Alt, Loop)) and condition_of(node).local


def _free_function(atom: Expr) -> bool:
    """Say whether a fact is an unknown function of coordinates, which may well be alike everywhere."""
    return bool(atom.var) and not atom.local and not shows_apart(atom)


def first_events(terms: Terms, axes: Axes, part: Node) -> tuple[Node, ...]:
    """Give branches that are enough to show a fault where one side of a part makes no event that the gate divides.

    Each holds one event of the other side: the first that every rank there comes to, and the first at all. They are
    small where that side is the rest of a long function. Empty for other parts.
    """
    if not isinstance(part, Alt) or not part.condition.var:
        return ()
    there = [any(divides(part.condition, group, axes) for group in side.groups) for side in (part.then, part.otherwise)]
    if there[0] is there[1]:
        return ()
    side, other = (part.then, part.otherwise) if there[0] else (part.otherwise, part.then)
    empty = project(terms, other, lambda group: False)
    found = []
    for path in (_plain(terms, side, part.condition, axes), _path(terms, side, part.condition, axes)):
        if path is not None:
            sides = (path, empty) if there[0] else (empty, path)
            found.append(terms.alt(part.condition, *sides, part.gate))
    return tuple(dict.fromkeys(found))


def _plain(terms: Terms, side: Node, condition: Expr, axes: Axes) -> Node | None:
    """Give the first divided event that no branch of the side decides; none after a loop that may leave."""
    node: Node | None = side
    while node is not None:
        if isinstance(node, Op) and divides(condition, node.group, axes):
            return terms.moved(node, terms.nil, node.site)
        if isinstance(node, Loop) and breaks(node.body):
            return None
        node = terms.joins.next(node)
    return None


def _path(terms: Terms, side: Node, condition: Expr, axes: Axes) -> Node | None:
    """Give the first divided event in the order of the program, under what leads to it."""
    above: dict[int, Node] = {}
    for node in walk(side):
        if isinstance(node, Op) and divides(condition, node.group, axes):
            return _gated(terms, node, above)
        for child in children(node):
            above.setdefault(child.id, node)
    return None


def _gated(terms: Terms, op: Op, above: dict[int, Node]) -> Node:
    """Give one event under the branches and loops that lead to it; a branch whose both sides do is none."""
    path, here = terms.moved(op, terms.nil, op.site), op.id
    passed = {op.shape}
    while here in above:
        node = above[here]
        if isinstance(node, Alt) and not _met(terms, node, passed):
            sides = (path, _off(terms, node.otherwise)) if node.then.id == here else (_off(terms, node.then), path)
            path = terms.alt(node.condition, *sides, node.gate)
        elif isinstance(node, Loop) and node.body.id == here:
            path = terms.loop(node.trip, path, terms.nil, node.gate)
        elif isinstance(node, Loop) and node.rest.id == here and breaks(node.body):
            path = terms.loop(node.trip, project(terms, node.body, lambda group: False), path, node.gate)
        here = node.id
        passed.add(node.shape)
    return path


def _met(terms: Terms, node: Alt, passed: set[int]) -> bool:
    join, dead = terms.joins.next(node), terms.joins.dead
    if node.then.shape in dead or node.otherwise.shape in dead:
        return False
    return join is not None and join.shape in passed


def _off(terms: Terms, side: Node) -> Node:
    """Give what is left of the side that a path does not take: an exit stays one."""
    return project(terms, side, lambda group: False) if side.shape in terms.joins.dead else terms.nil


def _among_others(stuck: Stuck, run: Run) -> bool:
    """Say whether an unknown group and another one are stuck together: they may be one and the same."""
    groups = [stuck.group, *(item.group for item in run.stuck)]
    return any(group.unknown for group in groups) and not all(group.may_equal(stuck.group) for group in groups)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part stands: the loop around it, the uniform gates that enclose it, and the facts that all ranks know."""

    loop: Loop | None = None
    gates: tuple[tuple[Alt, bool], ...] = ()
    sizes: Facts = ()
    asked: frozenset[int] = frozenset()
    depth: int = 0
    divided: int = 0
    """The dims of a faulty gate around: what it keeps apart is not told again."""
    parted: tuple[tuple[Alt, bool], ...] = ()
    """The faulty gates around, and the side of them that the part stands on."""

    def inside(self, node: Alt, holds: bool) -> _Place:
        """Give the place on one side of a uniform branch."""
        here = self.after(node, holds)
        return replace(here, gates=(*self.gates, (node, holds)))

    def after(self, node: Alt, holds: bool | None = None) -> _Place:
        """Give the place after a uniform branch; `holds` if one side alone comes there."""
        asked = self.asked | {atom.id for atom in atoms(node.condition)}
        known = holds is not None and sizes_only(node.condition)
        return replace(self, asked=asked, sizes=(*self.sizes, (node.condition, bool(holds))) if known else self.sizes)

    def may(self, node: Alt, holds: bool) -> bool:
        """Say whether a side can be taken here: not if an enclosing gate asked the same and went the other way."""
        return all(gate.condition is not node.condition or value is holds for gate, value in self.gates)

    def wrapped(self, terms: Terms, part: Node) -> Node:
        """Put a part under the enclosing gates that ask what it asks too."""
        used = {atom.id for expr in expressions(part) for atom in atoms(expr)}
        for node, holds in reversed(self.gates):
            if used & {atom.id for atom in atoms(node.condition)}:
                sides = (part, terms.nil) if holds else (terms.nil, part)
                part = terms.alt(node.condition, *sides, node.gate)
        return part


@dataclass(slots=True)
class Judge:
    """Judges terms of one table.

    `unjudged` counts the parts that reached a bound, `simulated` the runs; `run_cap` bounds the runs of one mesh.
    """

    terms: Terms
    axes: Axes
    prover: Prover = field(init=False)
    unjudged: int = 0
    simulated: int = 0
    run_cap: int = RUN_CAP
    cut_short: bool = False
    """Whether the last term has too many parts in parts to be looked through."""
    bench: Bench = field(default_factory=Bench)
    _copied: int = 0
    _answers: dict[tuple[int, Options, Facts], Verdict] = field(default_factory=dict)
    _balancing: set[object] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Share one prover, so that answers are kept."""
        self.prover = Prover(self.terms, self.axes)

    def faults(self, term: Node) -> tuple[Fault, ...]:
        """Give the faults of a term, by place; one for each gate and communicator."""
        if self.prover.safe(term):
            return ()
        self._balancing.clear()
        self._copied, self.cut_short = 0, False
        found: dict[object, Fault] = {}
        for fault in self._spine(term, None, _Place()):
            if fault.key not in found and not self._explained(term, fault):
                found[fault.key] = fault
        return tuple(sorted(found.values(), key=lambda fault: str(fault.order)))

    def forget(self) -> None:
        """Let go of what was simulated; it is asked for again only while one term is judged."""
        self._answers.clear()
        self.bench.forget()

    def _explained(self, term: Node, fault: Fault) -> bool:
        """Say whether the whole term is safe, or is so on the groups of a fault's part: the part told too little.

        What comes before may make the part unreachable, or answer its questions; another group may stop a rank before
        it comes to the event, under facts that are a way out there. Silence of a bound explains nothing.
        """
        groups = [item.group for item in (fault.stuck, *fault.also)] + list(fault.term.groups)
        keys = {group.partition for group in groups}
        whole = project(self.terms, term, lambda group: group.partition in keys, waits=True)
        wholes = (whole,) if whole.shape == term.shape else (whole, term)
        return any(self._safe_with(one, fault) for one in wholes)

    def _safe_with(self, whole: Node, fault: Fault) -> bool:
        """Say whether a term that holds the part of a fault is safe, on the mesh of the fault and on its own."""
        if whole.shape == fault.term.shape or count(whole) > CONFIRM_NODES:
            return False
        options = replace(self._options_of(fault.grade), lone=fault.options.lone)
        unjudged = self.unjudged
        try:
            safe = (
                simulate_on(whole, fault.run.mesh, options, self.bench).safe and self._verdict(whole, options, ()).safe
            )
        except Unresolvable:
            safe = False
        self.unjudged = unjudged
        return safe

    def _options_of(self, grade: str) -> Options:
        cap = min(self.run_cap, CONFIRM_RUNS)
        return Options(free_locals=grade == "local", strict_async=grade == "async", run_cap=cap)

    def _spine(self, term: Node, end: Node | None, place: _Place) -> Iterator[Fault]:
        """Walk from join to join; `end` is where the enclosing branch meets."""
        if place.depth > NESTING_CAP:
            self.unjudged += 1
            return
        pending: list[tuple[Node | None, Node | None, _Place]] = [(term, end, place)]
        while pending:
            node, stop, here = pending.pop()
            if node is None or (stop is not None and node.shape == stop.shape):
                continue
            if self._copied > COPIES:
                self.unjudged += not self.cut_short
                self.cut_short = True
                return
            join = following = self.terms.joins.next(node)
            inner: list[tuple[Node | None, Node | None, _Place]] = []
            if not self._harmless(node, join):
                if isinstance(node, Alt) and not node.condition.var:
                    sides = ((node.otherwise, False), (node.then, True))
                    inner = [(side, join, here.inside(node, holds)) for side, holds in sides if here.may(node, holds)]
                elif isinstance(node, Loop) and not node.trip.var and not (node.body.var and breaks(node.body)):
                    yield from self._spine(node.body, None, replace(here, loop=node, depth=here.depth + 1))
                    inner = [(node.after_return, join, here), (node.rest, join, here)] if returns(node.body) else []
                else:
                    following = yield from self._part(node, join, stop, here)
            pending.append((following, stop, self._after(node, here)))
            pending += inner

    def _harmless(self, node: Node, join: Node | None) -> bool:
        if isinstance(node, Op):
            return not varies(node)
        if not isinstance(node, (Alt, Loop)):
            return True
        part = cut(self.terms, node, join)
        self._copied += effort(self.terms, node, join)
        return self.prover.safe(part)

    def _after(self, node: Node, place: _Place) -> _Place:
        """Add what all ranks know after a uniform branch, of which one side may leave the program."""
        if not isinstance(node, Alt) or node.condition.var:
            return place
        dead = self.terms.joins.dead
        if node.then.shape in dead:
            return place.after(node, False)
        return place.after(node, True if node.otherwise.shape in dead else None)

    def _part(
        self, node: Node, join: Node | None, stop: Node | None, place: _Place
    ) -> Generator[Fault, None, Node | None]:
        """Judge what stands between `node` and its join; gives where to go on.

        Where some ranks leave the program, all that follows belongs to the part.
        """
        if isinstance(node, (Alt, Loop)) and condition_of(node).var & place.divided:
            return join
        part = cut(self.terms, node, join)
        if isinstance(node, (Alt, Loop)) and any(isinstance(below, Exit) for below in walk(part)):
            part = node
        if isinstance(node, Op):
            part = self.terms.again(node, self.terms.nil, node.site)
        if not self._worth(part):
            return join
        context = node if place.loop is None else self.terms.then(node, place.loop)
        short = first_events(self.terms, self.axes, part)
        terms = [place.wrapped(self.terms, term) for term in (*short, part)]
        for options, grade in self._phases(part, place, terms):
            for term in terms:
                run = self._verdict(term, options, place.sizes).run
                if run is None:
                    continue
                unjudged = self.unjudged
                balanced, following = self._balanced(node, join, stop, first_stuck(run).group, options, place)
                self.unjudged = unjudged + (balanced is None)
                if balanced is not False:
                    return following
                left = self._left_between(node, join, first_stuck(run).group, options, place)
                if left is not None:
                    found, whole, shown = left
                    yield replace(self._fault(found, shown, whole, context, grade), options=options)
                    return join
                yield from self._rounds(term, context, options, grade, place)
                if short and isinstance(part, Alt):
                    divided = place.divided | part.condition.var
                    for side, holds in ((part.then, True), (part.otherwise, False)):
                        parted = (*place.parted, (part, holds))
                        deeper = replace(place, depth=place.depth + 1, divided=divided, parted=parted)
                        yield from self._spine(side, None, deeper)
                return join
        return join

    def _worth(self, part: Node) -> bool:
        """Say whether a fault of a part would be told at all."""
        return True

    def _balanced(
        self, node: Node, join: Node | None, stop: Node | None, group: Group, options: Options, place: _Place
    ) -> tuple[bool | None, Node | None]:
        """Say whether a gate further down balances this one on the stuck group, and give where to go on.

        A gate of a callee that may be balanced here is left to the callee (None): this function is too long to tell.
        """
        end, inside, tries, undecided = join, True, 0, False
        for _ in range(BALANCE_REACH):
            inside = inside and end is not None and (stop is None or end.shape != stop.shape)
            if end is None or tries == BALANCE_CAP or not any(group.may_equal(other) for other in end.groups):
                break
            following = self.terms.joins.next(end)
            counterpart = cut(self.terms, end, following)
            if isinstance(end, (Alt, Loop)) and self._divided(counterpart, group):
                tries += 1
                whole = self._only(cut(self.terms, node, following), group)
                capped = replace(options, run_cap=min(options.run_cap, BALANCE_RUNS))
                verdict = self._verdict(place.wrapped(self.terms, whole), capped, place.sizes)
                undecided = undecided or not verdict.known
                if verdict.safe:
                    self._balancing |= {gate_key(g) for g in walk(counterpart) if isinstance(g, (Alt, Loop))}
                    between = cut(self.terms, node, following)
                    met = [g for g in walk(between) if isinstance(g, (Alt, Loop))]
                    self._balancing |= {(gate_key(g), group.partition) for g in met}
                    return True, following if inside else join
            end = following
        left = undecided and isinstance(node, (Alt, Loop)) and len(node.gate.site.frames()) > 1
        return None if left else False, join

    def _left_between(
        self, node: Node, join: Node | None, group: Group, options: Options, place: _Place
    ) -> tuple[Blame, Node, Run] | None:
        """Find an exit between a gate and one further down that would balance it: the exit is at fault, and not they.

        Where they balance each other but for events in between, nothing is told of the one further down.
        """
        end = join
        options = replace(options, run_cap=min(options.run_cap, BALANCE_RUNS))
        for _ in range(BALANCE_CAP):
            if end is None or not any(group.may_equal(other) for other in end.groups):
                return None
            following = self.terms.joins.next(end)
            counterpart = cut(self.terms, end, following)
            if isinstance(end, Alt) and self._divided(counterpart, group):
                gates = [gate for gate in walk(counterpart) if isinstance(gate, Alt)]
                pair = self.terms.then(cut(self.terms, node, join), counterpart)
                left = self._exit_among(gates, cut(self.terms, node, following), group, options, place)
                if left is not None or self._verdict(self._seen(pair, group, place), options, place.sizes).safe:
                    self._balancing |= {gate_key(gate) for gate in gates}
                return left
            end = following
        return None

    def _exit_among(
        self, gates: list[Alt], part: Node, group: Group, options: Options, place: _Place
    ) -> tuple[Blame, Node, Run] | None:
        """Give the first of some gates whose exit, if no rank takes it, makes a part safe."""
        whole = self._seen(part, group, place)
        run = self._verdict(whole, options, place.sizes).run
        for gate in gates if run is not None else ():
            if gate.gate.leaves in ("return", "break", "continue"):
                stays = not gate.gate.leaves_if
                mended = replace(options, forced=(*options.forced, (gate_key(gate), stays)))
                if run is not None and self._verdict(whole, mended, place.sizes).safe:
                    return Blame(gate, first_stuck(run), stays, True), whole, run
        return None

    def _seen(self, part: Node, group: Group, place: _Place) -> Node:
        """Give what a part does on one group, where it stands."""
        return place.wrapped(self.terms, self._only(part, group))

    def _divided(self, counterpart: Node, group: Group) -> bool:
        return any(
            isinstance(node, (Alt, Loop))
            and divides(condition_of(node), group, self.axes)
            and any(group.may_equal(other) for other in node.groups)
            for node in walk(counterpart)
        )

    def _only(self, term: Node, group: Group) -> Node:
        """Give what a term does on one group, without what all ranks do alike under facts of their own."""
        return drop_uniform(self.terms, project(self.terms, term, group.may_equal, waits=True))

    def _phases(self, part: Node, place: _Place, terms: list[Node]) -> Iterator[tuple[Options, str]]:
        plain = Options(shared=place.asked, run_cap=self.run_cap)
        yield plain, "mesh"
        if any(self._verdict(term, plain, place.sizes).lone for term in terms):
            yield replace(plain, lone=True), "mesh"
        if any(isinstance(node, Op) and node.handle for node in walk(part)):
            yield Options(strict_async=True, shared=place.asked, run_cap=self.run_cap), "async"
        if any(_is_local(node) for node in walk(part)):
            yield Options(free_locals=True, shared=place.asked, run_cap=self.run_cap), "local"

    def _rounds(self, term: Node, context: Node, options: Options, grade: str, place: _Place) -> Iterator[Fault]:
        """Blame one gate after the other, as long as the term blocks."""
        for _ in range(ROUNDS):
            verdict = self._verdict(term, options, place.sizes)
            if verdict.run is None:
                return
            found = blame(term, verdict.run, options, self.bench)
            if not self._is_balanced(found) and self._divided_by(found):
                fault = self._fault(found, verdict.run, term, context, grade)
                fault = replace(fault, weak=fault.weak or verdict.doubtful, options=options)
                if self._all_here(fault, place):
                    yield fault
            if found.node is None or found.removed:
                return
            options = replace(options, forced=(*options.forced, (gate_key(found.node), found.forced)))

    def _divided_by(self, found: Blame) -> bool:
        """Say whether the blamed gate can divide the stuck group: none but its own places do so to an unknown one."""
        group = found.stuck.group
        if not group.unknown:
            return True
        return found.node is not None and divides(condition_of(found.node), group, self.axes)

    def _is_balanced(self, found: Blame) -> bool:
        """Say whether a blamed gate is part of what was seen to balance."""
        if found.node is None:
            return False
        key = gate_key(found.node)
        return key in self._balancing or (key, found.stuck.group.partition) in self._balancing

    def _all_here(self, fault: Fault, place: _Place) -> bool:
        """Say whether all members of a stuck instance can be on the sides of the faulty gates around the part."""
        return all(self._on_side(fault, node.condition, holds) for node, holds in place.parted)

    def _on_side(self, fault: Fault, condition: Expr, holds: bool) -> bool:
        group, mesh = fault.stuck.group, fault.run.mesh
        if not divides(condition, group, self.axes):
            return True
        if mesh.extent(condition.var & group.dims & self.axes.everything) < 2:
            return False
        layout = Layout(mesh)
        try:
            sides = [truth(evaluate(condition, View(layout, rank, refuse))) for rank in fault.stuck.members]
        except Unresolvable:
            return False
        return all(side is holds for side in sides)

    def _fault(self, found: Blame, run: Run, term: Node, context: Node, grade: str) -> Fault:
        stuck, node = found.stuck, found.node
        weak = stuck.group.weak or (node is not None and weakly(condition_of(node), stuck.group, self.axes))
        weak = weak or _among_others(stuck, run) or any(c.atom.weak and not c.atom.var for c in run.choices)
        also = tuple(item for item in run.stuck if item is not stuck)
        return Fault(node, stuck, run, term, context, grade, weak, found.forced, found.removed, also)

    def _verdict(self, term: Node, options: Options, facts: Facts) -> Verdict:
        key = (term.id, options, facts)
        if key not in self._answers:
            verdict = self._simulated(term, options, facts)
            self.unjudged += not verdict.known
            self.simulated += verdict.runs
            self._answers[key] = verdict
        return self._answers[key]

    def _simulated(self, term: Node, options: Options, facts: Facts) -> Verdict:
        try:
            return simulate(term, self.axes, options, facts, self.bench)
        except Unresolvable:
            return Verdict(None, False)
