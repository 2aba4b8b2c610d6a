"""Which gate is at fault: the innermost one whose forcing, on all ranks, removes the deadlock.

`Judge` takes a term apart at its joins, proves what it can, simulates the rest, and gives the faults. A part that
leaves ranks waiting is judged again with what comes after it, once more round the enclosing loop included: a gate may
be balanced later.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from meshlint.mesh.choose import Facts, expressions, sizes_only
from meshlint.mesh.dims import Axes
from meshlint.mesh.evaluate import Unresolvable
from meshlint.mesh.fast import Prover, weakly
from meshlint.mesh.gate import atoms
from meshlint.mesh.segment import condition_of, cut, project
from meshlint.mesh.simulate import Options, Run, Stuck, Verdict, gate_key, simulate, simulate_on
from meshlint.mesh.term import Alt, Exit, Loop, Node, Op, Terms, breaks, returns, walk

ROUNDS = 4
"""How many faults of one part are looked for."""

BALANCE_CAP = 8
"""How many gates further down are tried as the counterpart of one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: a gate, and an instance that it leaves waiting.

    `node` is the blamed branch or loop; None where no gate is involved (roots or lists that differ). `stuck` is the
    instance, `run` the refuting run of `term`, `also` what else is stuck in it. `forced` is the side (or trip) whose
    forcing removes the deadlock. `context` is the part with all that comes after it. `grade`: `mesh`, `async` (only if
    async operations of different groups must keep their order) or `local` (only if rank-local facts differ). `weak`:
    a name or an overlap of unknown sizes is involved.
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
    return min(run.stuck, key=lambda item: (min(op.site.key for _, op in item.arrived), item.members))


def differing(run: Run, stuck: Stuck) -> tuple[Alt | Loop, ...]:
    """Give the gates that two members of a stuck instance passed with different decisions, innermost first."""
    found: dict[object, tuple[int, Alt | Loop]] = {}
    for left in stuck.members:
        for right in stuck.members:
            if left < right:
                for place, node in _between(run, left, right):
                    key = gate_key(node)
                    found[key] = max(found.get(key, (place, node)), (place, node), key=lambda item: item[0])
    ordered = sorted(found.values(), key=lambda item: (-item[0], item[1].gate.site.key, item[1].id))
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


def blame(term: Node, run: Run, options: Options) -> Blame:
    """Find the gate of a refuting run: forcing it removes every deadlock, or else at least this one."""
    stuck = first_stuck(run)
    partial: Blame | None = None
    for node in differing(run, stuck):
        for value in _sides(run, stuck, node):
            verdict = _forced(term, run, options, node, value)
            if verdict.known and verdict.run is None:
                return Blame(node, stuck, value, True)
            if partial is None and verdict.run is not None and not _again(stuck, verdict.run):
                partial = Blame(node, stuck, value, False)
    if partial is not None:
        return partial
    gates = differing(run, stuck)
    return Blame(gates[0] if gates else None, stuck)


def _sides(run: Run, stuck: Stuck, node: Alt | Loop) -> tuple[Any, ...]:
    key = gate_key(node)
    taken = (item.value for rank in stuck.members for item in run.paths[rank] if gate_key(item.node) == key)
    return tuple(sorted(dict.fromkeys(taken), reverse=True))


def _forced(term: Node, run: Run, options: Options, node: Alt | Loop, value: Any) -> Verdict:
    forced = replace(options, forced=(*options.forced, (gate_key(node), value)))
    return simulate_on(term, run.mesh, forced)


def _again(stuck: Stuck, run: Run) -> bool:
    sites = {op.site for _, op in stuck.arrived}
    return any(
        item.group.partition == stuck.group.partition and any(op.site in sites for _, op in item.arrived)
        for item in run.stuck
    )


def _varies(node: Node) -> bool:
    return isinstance(node, (Alt, Loop)) and bool(node.var)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part stands: the loop around it, the uniform gates that enclose it, and the facts that all ranks know."""

    loop: Loop | None = None
    gates: tuple[tuple[Alt, bool], ...] = ()
    sizes: Facts = ()
    asked: frozenset[int] = frozenset()

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
    """Judges terms of one table. `unjudged` counts the parts that reached a bound."""

    terms: Terms
    axes: Axes
    prover: Prover = field(init=False)
    unjudged: int = 0
    simulated: int = 0
    _answers: dict[tuple[int, Options, Facts], Verdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Share one prover, so that answers are kept."""
        self.prover = Prover(self.terms, self.axes)

    def faults(self, term: Node) -> tuple[Fault, ...]:
        """Give the faults of a term, by place; one for each gate and communicator."""
        found: dict[object, Fault] = {}
        for fault in self._spine(term, None, _Place()):
            found.setdefault(fault.key, fault)
        return tuple(sorted(found.values(), key=lambda fault: str(fault.order)))

    def _spine(self, term: Node, end: Node | None, place: _Place) -> Iterator[Fault]:
        """Walk from join to join; `end` is where the enclosing branch meets."""
        pending: list[tuple[Node | None, Node | None, _Place]] = [(term, end, place)]
        while pending:
            node, stop, here = pending.pop()
            while node is not None and (stop is None or node.shape != stop.shape):
                join = following = self.terms.joins.next(node)
                if not self.prover.safe(cut(self.terms, node, join)):
                    if isinstance(node, Alt) and not node.condition.var:
                        sides = ((node.otherwise, False), (node.then, True))
                        pending += [
                            (side, join, here.inside(node, holds)) for side, holds in sides if here.may(node, holds)
                        ]
                    elif isinstance(node, Loop) and not node.trip.var and not (node.body.var and breaks(node.body)):
                        yield from self._spine(node.body, None, replace(here, loop=node))
                        if returns(node.body):
                            pending += [(node.after_return, join, here), (node.rest, join, here)]
                    else:
                        following = yield from self._part(node, join, stop, here)
                here = self._after(node, here)
                node = following

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
        part = cut(self.terms, node, join)
        if isinstance(node, (Alt, Loop)) and any(isinstance(below, Exit) for below in walk(part)):
            part = node
        if isinstance(node, Op):
            part = self.terms.again(node, self.terms.nil, node.site)
        context = node if place.loop is None else self.terms.then(node, place.loop)
        part, context = place.wrapped(self.terms, part), place.wrapped(self.terms, context)
        for options, grade in self._phases(part, place):
            if self._verdict(part, options, place.sizes).run is None:
                continue
            balanced, following = self._balanced(node, join, stop, options, place)
            if balanced:
                return following
            found = list(self._rounds(part, context, options, grade, place.sizes))
            yield from found
            if found:
                return join
        return join

    def _balanced(
        self, node: Node, join: Node | None, stop: Node | None, options: Options, place: _Place
    ) -> tuple[bool, Node | None]:
        """Say whether a gate further down on the same way balances this one, and give what follows that gate."""
        end = join
        for _ in range(BALANCE_CAP):
            while end is not None and not _varies(end):
                end = self.terms.joins.next(end) if stop is None or end.shape != stop.shape else None
            if end is None:
                return False, None
            end = self.terms.joins.next(end)
            if self._verdict(place.wrapped(self.terms, cut(self.terms, node, end)), options, place.sizes).safe:
                return True, end
        return False, None

    def _phases(self, part: Node, place: _Place) -> Iterator[tuple[Options, str]]:
        yield Options(shared=place.asked), "mesh"
        if any(isinstance(node, Op) and node.handle for node in walk(part)):
            yield Options(strict_async=True, shared=place.asked), "async"
        if any(isinstance(node, (Alt, Loop)) and condition_of(node).local for node in walk(part)):
            yield Options(free_locals=True, shared=place.asked), "local"

    def _rounds(self, part: Node, context: Node, options: Options, grade: str, facts: Facts) -> Iterator[Fault]:
        """Blame one gate of the part after the other, as long as the part blocks with all that comes after it."""
        keys = {group.partition for group in part.groups}
        term = project(self.terms, context, lambda group: group.partition in keys, waits=True)
        inside = {gate_key(node) for node in walk(part) if isinstance(node, (Alt, Loop))}
        for _ in range(ROUNDS):
            whole = self._verdict(term, options, facts).run
            alone = self._verdict(part, options, facts).run
            if whole is None or alone is None:
                return
            culprit = blame(term, whole, options).node
            if culprit is not None and gate_key(culprit) not in inside:
                return
            found = blame(part, alone, options)
            yield self._fault(found, alone, part, context, grade)
            if found.node is None or found.removed:
                return
            options = replace(options, forced=(*options.forced, (gate_key(found.node), found.forced)))

    def _fault(self, found: Blame, run: Run, term: Node, context: Node, grade: str) -> Fault:
        stuck, node = found.stuck, found.node
        weak = stuck.group.weak or (node is not None and weakly(condition_of(node), stuck.group, self.axes))
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
            return simulate(term, self.axes, options, facts)
        except Unresolvable:
            return Verdict(None, False)
