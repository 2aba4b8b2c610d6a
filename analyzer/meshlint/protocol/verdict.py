"""Verdicts: which roots are judged, and which faults stand.

Every function is judged by itself first. A fault whose gate stands in a function that others call is told only if some
caller that was judged shows it too: a gate may be balanced by what the callers do. What a fault says is made in
`telling`, `stage_faults` and `left_out`; how one term is judged, and within which bounds, stands in `judging`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.mesh import arms
from meshlint.mesh.blame import Fault, differing, without_adversaries
from meshlint.mesh.classify import call_in_gate_function, size_guards
from meshlint.mesh.dims import Axes
from meshlint.mesh.gate import show
from meshlint.mesh.segment import condition_of
from meshlint.mesh.term import Alt, Loop, Op, walk
from meshlint.mesh.term import Node as Term
from meshlint.place import Span
from meshlint.protocol import keeping
from meshlint.protocol.advice import advice
from meshlint.protocol.facts import Definition, FileFacts, dotted
from meshlint.protocol.faults import (
    UNFILLED,
    CodeFault,
    Key,
    Part,
    Rank,
    Standing,
    Switched,
    Units,
    settled,
    settled_standing,
)
from meshlint.protocol.forwarding import asked_and_left_out, falls_back, not_forwarded, optional_groups, switched_off
from meshlint.protocol.handed import given_away
from meshlint.protocol.inner_calls import given_sets
from meshlint.protocol.judging import RUNS_PER_ROOT, BoundedJudge, Judged, opaque
from meshlint.protocol.kept import Kept, work_of
from meshlint.protocol.kinds import makes_groups, misfits
from meshlint.protocol.left_out import instead_of_none, of_a_kind, on_the_world, where_it_is_there, without_agreement
from meshlint.protocol.nones import MIDDLE, may_return_nones, nones
from meshlint.protocol.out_of_turn import UNORDERED, out_of_turn
from meshlint.protocol.packing import building_keys, packed
from meshlint.protocol.pytests import is_test
from meshlint.protocol.roots import Root, definition_at, frame_of, function_of, root_term, roots_of
from meshlint.protocol.stage_faults import line_of, sides_differ, unsent
from meshlint.protocol.stages import Answer, Missing, Silent, ask, without_pipeline
from meshlint.protocol.summary import Engine, Exhausted, asks_for_stages, seeds
from meshlint.protocol.telling import Teller
from meshlint.protocol.unbound import Unbound, unbound
from meshlint.protocol.unfilled import Unfilled, makes_room, unfilled
from meshlint.records import dataclass
from meshlint.told import known_places, told_line

RUNS_OF_DOUBT = 256
"""Runs in which unknown functions of coordinates are no adversaries."""
RUN_OF_FILE = 20
"""Nodes that one run of a simulation counts for in what one file may cost."""
EFFORT_OF_FILE = 120_000
"""What judging the roots of one file may cost; those left are not judged. The dearest file of Megatron-LM: 63,000."""
TANGLED = 8
"""The part of what one file may take that a root counts for whose calls stand too deep inside of one another."""
MAX_CALLERS = 6
"""Callers that are judged for one fault of a callee."""


@dataclass(slots=True)
class Found:
    """A fault and the root that shows it."""

    root: Root
    term: Term
    fault: Fault


def _place(found: Found) -> tuple[Key, Rank]:
    """Give the key of a fault in words that mean the same in every process."""
    group = found.fault.stuck.group
    lists = [None if expr is None else show(expr) for expr in (group.members, group.lists)]
    key = (found.fault.key[0], group.dims, *lists)
    return key, (_depth(found.fault), found.root.path, found.root.index)


@dataclass(slots=True)
class Bill:
    """What following the roots of one file takes together; what several of them call counts once."""

    steps: int = 0
    placed: int = 0
    paid: set[Kept] = field(default_factory=set)

    @property
    def open(self) -> bool:
        """Say whether further roots may be followed."""
        return self.steps <= keeping.MAX_STEPS and self.placed <= keeping.MAX_PLACED

    def add(self, kept: Kept | None) -> None:
        """Add one root."""
        steps, placed = (0, 0) if kept is None else work_of(kept, self.paid)
        self.steps += steps
        self.placed += placed


@dataclass(slots=True)
class Verdicts:
    """Judging a linked program."""

    engine: Engine
    axes: Axes
    judge: BoundedJudge = field(init=False)
    teller: Teller = field(init=False)
    notes: list[str] = field(default_factory=list)
    here: str = ""
    """The file whose roots are judged."""
    effort: int = 0
    """What judging them has cost."""
    terms: dict[Root, Term | None] = field(default_factory=dict)
    two_sided: dict[Root, frozenset[Span]] = field(default_factory=dict)
    costs: dict[Root, Kept | None] = field(default_factory=dict)
    """What following each root took."""
    itself: dict[Span, bool] = field(default_factory=dict)
    judged: dict[tuple[int, bool], Judged] = field(default_factory=dict)
    """What each term shows."""
    paid: set[tuple[int, bool]] = field(default_factory=set)
    """The terms that count in `effort`."""
    reads: dict[object, Any] = field(default_factory=dict)
    """What each term and each answer about a gate rests on."""
    silent: Silent = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make one judge for all roots."""
        self.judge = BoundedJudge(self.engine.terms, self.axes)
        self.teller = Teller(self.engine, self.axes)

    def part(self, paths: Iterable[str]) -> Part:
        """Judge every root in some files by itself."""
        with known_places() as places:
            part = self._part(paths)
            part.own = [settled_standing(one, places) for one in part.own]
            part.stages = [settled_standing(one, places) for one in part.stages]
        return part

    def _part(self, paths: Iterable[str]) -> Part:
        wanted = sorted(set(paths))
        self.effort = 0
        self.paid.clear()
        roots = list(self._roots(wanted))
        best: dict[object, Found] = {}
        for root in roots:
            term = self._known(root)
            if self._varies_here(term):
                faults = self._judged(term)
                if (term.id, False) in self.paid and self.judged[term.id, False].cut_short:
                    name = self.engine.linker.definition(root.path, root.index).qualname
                    self._note(f"{root.path}: `{name}` leaves in too many places to be judged to its end")
                for fault in faults:
                    known = best.get(fault.key)
                    if known is None or _depth(fault) < _depth(known.fault):
                        best[fault.key] = Found(root, term, fault)
        own = [Standing(*_place(found), self._told(found) if self._stands(found) else None) for found in best.values()]
        own += [*self._size_guards(roots), *self._turns(roots), *self._unfilled(roots), *self._stranded(roots)]
        early = list(self._early(wanted))
        stages = [*early, *self._stages(roots, {standing.rank[1:] for standing in early})]
        return Part(own, stages, [], [*self.engine.notes, *self.notes])

    def _told(self, found: Found) -> CodeFault:
        node = found.fault.node
        return self.teller.told(found.fault, node is not None and node.gate.site.span in self.two_sided[found.root])

    def units(self, paths: Iterable[str]) -> Units:
        """Judge the roots of some files, each file apart, and write down what each verdict rests on."""
        linker = self.engine.linker
        parts: dict[str, Part] = {}
        asked: dict[str, set[int]] = {}
        told: dict[str, set[int]] = {}
        for path in paths:
            begun = linker.begin()
            parts[path] = self.part((path,))
            self.judge.forget()
            reads = linker.end(begun)
            if reads is not None:
                told[path] = reads.all()
            begun = linker.begin()
            with known_places() as places:
                parts[path].omitted = [settled(fault, places) for fault in self._left_out(path)]
            reads = linker.end(begun)
            if reads is not None:
                asked[path] = told[path] | reads.all()
        questions = linker.questions()
        for path, numbers in told.items():
            parts[path].notes = sorted(questions[number][1] for number in numbers if questions[number][0] == "note")
        return Units(parts, asked, questions)

    def _roots(self, paths: Iterable[str]) -> Iterator[Root]:
        for path in paths:
            facts: FileFacts | None = self.engine.linker.files.get(path)
            if facts is None or is_test(path):
                continue
            self.here = path
            self.engine.linker.note("file", path)
            self.engine.file_steps = 0
            bill = Bill()
            for definition in facts.definitions:
                for root in roots_of(self.engine, path, definition):
                    term = self._term(root) if bill.open else None
                    bill.add(self.costs.get(root))
                    if term is not None and bill.open:
                        yield root
                    elif not bill.open:
                        self._too_much(root)

    def _term(self, root: Root) -> Term | None:
        """Give the term of a root; None where it calls too much to be followed."""
        if root in self.terms:
            self.engine.linker.used(self.reads[root])
        else:
            begun = self.engine.linker.begin()
            self.terms[root] = self._followed(root)
            self.two_sided[root] = frozenset(self.engine.two_sided)
            self.reads[root] = self.engine.linker.end(begun)
        return self.terms[root]

    def _known(self, root: Root) -> Term:
        return self._term(root) or self.engine.terms.nil

    def _followed(self, root: Root) -> Term | None:
        """Follow a root; its bounds are its own, whatever else is followed."""
        engine = self.engine
        try:
            term = root_term(engine, root)
        except (Exhausted, RecursionError):
            cost = keeping.MAX_STEPS // TANGLED if engine.peak > keeping.MAX_NESTED else keeping.MAX_STEPS + 1
            self.costs[root] = Kept(None, frozenset(), steps=cost)
            self._too_much(root)
            return None
        self.costs[root] = engine.root
        return term

    def _too_much(self, root: Root) -> None:
        name = self.engine.linker.definition(root.path, root.index).qualname
        self._note(f"{root.path}: `{name}` calls too much to be followed")

    def _note(self, text: str) -> None:
        self.engine.linker.note("note", text)
        if text not in self.notes:
            self.notes.append(text)

    def _varies_here(self, term: Term) -> bool:
        """Say whether a gate that ranks can pass differently stands in the root itself, or an event whose root does."""
        for node in walk(term):
            if isinstance(node, Alt | Loop) and condition_of(node).var:
                span = node.gate.site.span
                if len(node.gate.site.frames()) == 1 or not self._judged_itself(span):
                    return True
            if isinstance(node, Op) and len(node.site.frames()) == 1 and (node.root is not None or _lists(node)):
                return True
            if isinstance(node, Op) and "sized" in node.flags:
                return True
        return False

    def _judged_itself(self, gate: Span) -> bool:
        """Say whether the function of a gate is a root that shows the gate without any caller."""
        if gate in self.itself:
            self.engine.linker.used(self.reads[gate])
        else:
            begun = self.engine.linker.begin()
            self.itself[gate] = self._shows(gate)
            self.reads[gate] = self.engine.linker.end(begun)
        return self.itself[gate]

    def _shows(self, gate: Span) -> bool:
        inner = definition_at(self.engine.linker, gate)
        roots = roots_of(self.engine, gate.path, inner) if inner is not None else ()
        return any(
            isinstance(node, Alt | Loop)
            and node.gate.site.span == gate
            and condition_of(node).var
            and not any(group.unknown for group in node.groups)
            for root in roots
            for node in walk(self._term(root) or self.engine.terms.nil)
        )

    def _judged(self, term: Term, thorough: bool = False) -> tuple[Fault, ...]:
        """Judge a term, once; what was left unjudged counts each time, and what it costs once for each file."""
        key = (term.id, thorough)
        if key not in self.paid and self.effort > EFFORT_OF_FILE:
            self._note(f"{self.here}: it branches too much to be judged to its end")
            self.judge.unjudged += 1
            return ()
        known = self.judged.get(key)
        if known is None:
            known = self.judged[key] = self._judged_anew(term, thorough)
        else:
            self.judge.unjudged += known.unjudged
        if key not in self.paid:
            self.paid.add(key)
            self.effort += known.cost
        return known.faults

    def _judged_anew(self, term: Term, thorough: bool) -> Judged:
        judge, terms = self.judge, self.engine.terms
        judge.forget()
        judge.left, judge.thorough = RUNS_PER_ROOT, thorough
        unjudged, gone, simulated = judge.unjudged, terms.work, judge.simulated
        try:
            faults = judge.faults(term)
        except RecursionError:
            judge.unjudged += 1
            return Judged((), judge.unjudged - unjudged, 0, False)
        cost = terms.work - gone + RUN_OF_FILE * (judge.simulated - simulated)
        return Judged(faults, judge.unjudged - unjudged, cost, judge.cut_short)

    def _stands(self, found: Found) -> bool:
        """Say whether a fault stands in what the program does with the function."""
        node = found.fault.node
        if node is None:
            return True
        if any(opaque(gate) for gate in (node, *differing(found.fault.run, found.fault.stuck))):
            return False
        if not without_adversaries(found.fault, RUNS_OF_DOUBT, self.judge.bench) or self._out_of_sight(
            node, found.fault
        ):
            return False
        if len(node.gate.site.frames()) > 1 or self._elsewhere(found.root, node.gate.site.span):
            return not (found.fault.weak and self._silent_itself(node.gate.site.span))
        above = list(self._above(found.root, node.gate.site.span))
        for root in above:
            before = self.judge.unjudged
            if any(fault.key[0] == found.fault.key[0] for fault in self._judged(self._known(root), True)):
                return True
            if self.judge.unjudged > before:
                return True
        return not above

    def _out_of_sight(self, node: Alt | Loop, fault: Fault) -> bool:
        """Say whether the object that waits on one side of a gate is in other hands on the other side."""
        gate = node.gate.site.span
        inner = definition_at(self.engine.linker, gate)
        if inner is None:
            return False
        calls = {call_in_gate_function(node.gate, op.site).span for _, op in fault.stuck.arrived}
        return any(given_away(self.engine.linker, gate.path, inner, gate.line, call) for call in calls)

    def _elsewhere(self, root: Root, gate: Span) -> bool:
        """Say whether a gate stands in another function than the root: a context manager has no call of its own."""
        inner = definition_at(self.engine.linker, gate)
        return inner is not None and _is_manager(inner) and (gate.path, inner.index) != (root.path, root.index)

    def _silent_itself(self, gate: Span) -> bool:
        """Say whether the function of a gate, judged without any caller, shows the gate and no fault of it."""
        inner = definition_at(self.engine.linker, gate)
        if inner is None or not self._judged_itself(gate):
            return False
        terms = [term for root in roots_of(self.engine, gate.path, inner) if (term := self._term(root)) is not None]
        return not any(fault.key[0] == gate for term in terms for fault in self._judged(term, True))

    def _above(self, root: Root, gate: Span) -> Iterator[Root]:
        """Give some callers of a root in whose terms a gate still stands."""
        given = 0
        for path, index in self.engine.callers(root.path, root.index):
            if is_test(path) or (path, index) == (root.path, root.index):
                continue
            for caller in roots_of(self.engine, path, self.engine.linker.definition(path, index)):
                term = self._term(caller)
                if term is not None and any(isinstance(n, Alt | Loop) and n.gate.site.span == gate for n in walk(term)):
                    yield caller
                    given += 1
                    if given >= MAX_CALLERS:
                        return

    def _size_guards(self, roots: list[Root]) -> Iterator[Standing]:
        """Find events that are skipped where the size of other dims is one, in the function of the test."""
        for root in roots:
            for guard in size_guards(self.engine.terms, self._known(root), self.axes):
                if len(guard.node.gate.site.frames()) > 1:
                    continue
                name = self.engine.linker.definition(root.path, root.index).qualname
                site = call_in_gate_function(guard.node.gate, guard.op.site)
                group, test = self.teller.label(guard.op.group), self.axes.label(guard.mask)
                message = (
                    f"`{guard.op.kind}` on the {group} group is left out where the {test} size is one, although the "
                    f"{group} group may still hold several ranks."
                )
                related = (Related(guard.node.gate.site.span, "the test of another size"),)
                fault = CodeFault(
                    "GRP004", Severity.WARNING, Confidence.MEDIUM, Outcome.WRONG, site.span, message, related,
                    f"{name}|{group}|{guard.op.kind}", name,
                    arms.size_of_another(guard.node.gate.site.span, test, group, arms.Step(guard.op.kind, site.span)),
                    advice("GRP004", group, ""),
                )  # fmt: skip
                yield Standing((site.span, "GRP004"), (1, root.path, root.index), fault)

    def _unfilled(self, roots: list[Root]) -> Iterator[Standing]:
        """Find batch functions whose receivers return buffers that nothing fills on some stage."""
        for root in roots:
            definition = self.engine.linker.definition(root.path, root.index)
            if not makes_room(definition) or not asks_for_stages(definition):
                continue
            try:
                returns = self.engine.walked(function_of(self.engine, root)).returns
            except (Exhausted, RecursionError):
                continue
            found = unfilled(returns, self.engine.domain, self.axes)
            if found is not None:
                yield self._hollow(root, found, definition.qualname)

    def _hollow(self, root: Root, found: Unfilled, name: str) -> Standing:
        keys = " and ".join(f"`{key}`" for key in found.keys)
        message = (
            f"On the {found.stage} pipeline stage the tensor-parallel ranks that receive the batch return {keys} as "
            f"they made room for it: nothing is sent there, and the rank that sends returns its own."
        )
        span = Span(root.path, found.line, 1)
        grade = (Severity.WARNING, Confidence.MEDIUM, Outcome.WRONG)
        shown = arms.unfilled(found.keys, found.stage, found.served, span)
        fault = CodeFault(
            "COL003",
            *grade,
            span,
            message,
            (),
            f"{name}|{','.join(found.keys)}{UNFILLED}",
            name,
            shown,
            f"Send {keys} on the {found.stage} stage too, or return None there on all ranks.",
        )
        return Standing((span, "unfilled"), (1, root.path, root.index), fault)

    def _stranded(self, roots: list[Root]) -> Iterator[Standing]:
        """Find events that a rank never comes to for want of a name that its own data did not set."""
        for root in roots:
            definition = self.engine.linker.definition(root.path, root.index)
            for found in unbound(definition) if seeds(definition) else ():
                ops = [op for op in walk(self._known(root)) if isinstance(op, Op) and frame_of(op).path == root.path]
                op = next((op for op in ops if found.line <= frame_of(op).line <= definition.end_line), None)
                if op is not None:
                    yield self._without_name(root, found, op, definition.qualname)

    def _without_name(self, root: Root, found: Unbound, op: Op, name: str) -> Standing:
        loop, call = Span(root.path, found.loop, 1), arms.Step(op.kind, frame_of(op))
        message = (
            f"`{found.name}` is set by the loop on line {told_line(loop)} only where an element of `{found.sequence}` "
            f"is not None: a rank that has none of them stops here, and the others wait in `{op.kind}` on line "
            f"{told_line(frame_of(op))}."
        )
        span = Span(root.path, found.line, 1)
        related = (Related(frame_of(op), "where the others wait"),)
        grade = (Severity.INFO, Confidence.MEDIUM, Outcome.HANG)
        shown = arms.without_name(found.name, loop, span, call)
        fault = CodeFault(
            "COL005",
            *grade,
            span,
            message,
            related,
            f"{name}|{found.name}|unset",
            name,
            shown,
            f"Set `{found.name}` before the loop, to the same value on all ranks.",
        )
        return Standing((span, f"unset {found.name}"), (1, root.path, root.index), fault)

    def _turns(self, roots: list[Root]) -> Iterator[Standing]:
        """Find events that each rank makes in its own order, in the loops that a root comes to."""
        left = keeping.MAX_STEPS
        for root in roots:
            yield from self._turns_in(root, self._known(root))
            definition = self.engine.linker.definition(root.path, root.index)
            for given, call, path in given_sets(self.engine, root.path, definition):
                if left < 0:
                    self._too_much(root)
                    break
                try:
                    term = self.engine.start(function_of(self.engine, root), given).term
                except (Exhausted, RecursionError):
                    left -= keeping.MAX_STEPS
                    continue
                left -= self.engine.steps
                yield from self._turns_in(root, term, Span(path, call[4], call[5], call[6], call[7]))

    def _turns_in(self, root: Root, term: Term, giver: Span | None = None) -> Iterator[Standing]:
        for node in walk(term):
            if not isinstance(node, Loop) or node.gate.form not in UNORDERED:
                continue
            ops = [op for op in walk(node.body) if isinstance(op, Op) and set(op.flags) & {"turn", "turn of group"}]
            if ops:
                op = next((op for op in ops if "turn of group" in op.flags), ops[0])
                yield out_of_turn(self.engine.linker, root, node, op, giver)

    def _stages(self, roots: list[Root], early: set[tuple[object, ...]]) -> Iterator[Standing]:
        """Ask which packed keys reach which stages, of the functions that send them themselves or by one call."""
        seen: dict[Key, Standing] = {}
        for root in roots:
            name = self.engine.linker.definition(root.path, root.index).qualname
            answer = ask(self._known(root), self.axes, self._lays_out, name, self._off(), self.silent)
            if not answer.known:
                self.judge.unjudged += 1
            for op, absent, fault in self._stage_faults(root, answer):
                if (root.path, root.index) in early and absent == {MIDDLE} and fault.code == "PKD001":
                    continue
                key = (op.site.span, fault.code, op.keys, fault.message)
                rank = (len(op.site.frames()), root.path, root.index)
                if key not in seen or rank < seen[key].rank:
                    through = [frame.span for frame in op.site.frames()] if fault.code == "PKD007" else []
                    seen[key] = Standing(key, rank, fault, absent, tuple(through))
        yield from seen.values()

    def _early(self, paths: list[str]) -> Iterator[Standing]:
        """Find early returns of Nones that keep the layout of packed sequences from the middle stage."""
        for path in paths:
            facts = self.engine.linker.files.get(path)
            for definition in facts.definitions[1:] if facts is not None and not is_test(path) else ():
                if definition.parent > 0 or not asks_for_stages(definition) or not may_return_nones(definition):
                    continue
                owner = (path, definition.owner) if definition.owner >= 0 else None
                standing = self._returns_early(Root(path, definition.index, owner), definition.qualname)
                if standing is not None:
                    yield standing

    def _returns_early(self, root: Root, name: str) -> Standing | None:
        try:
            returns = self.engine.walked(function_of(self.engine, root)).returns
        except (Exhausted, RecursionError):
            return None
        found = nones(returns, self.axes, packed, self.engine.domain.is_none)
        if found is None:
            return None
        keys = " and ".join(f"`{key}`" for key in found.keys)
        message = (
            f"Stages in the middle of the pipeline get None for {keys} here, which the first and the last stage get "
            f"below: attention in the middle runs without the layout of the packed sequences."
        )
        span = Span(root.path, found.line, 1)
        fault = CodeFault(
            "PKD001", Severity.ERROR, Confidence.HIGH, Outcome.WRONG, span, message, (),
            f"{name}|{','.join(found.keys)}|early", name, arms.early_none(found.keys, span),
            f"Return {keys} on these stages too; they need no tokens, but attention needs the layout.",
        )  # fmt: skip
        return Standing((span, "PKD001", found.keys, message), (1, root.path, root.index), fault, frozenset((MIDDLE,)))

    def _off(self) -> frozenset[str]:
        return self.engine.of_all("refused", without_pipeline)

    def _lays_out(self, key: str) -> bool:
        building = self.engine.of_all("building", building_keys)
        return packed(key) or key in building

    def _stage_faults(self, root: Root, answer: Answer) -> Iterator[tuple[Op, frozenset[int], CodeFault]]:
        name = self.engine.linker.definition(root.path, root.index).qualname
        if answer.differ is not None:
            ops = [op for op in answer.differ.heads if op is not None]
            if ops and _deep(ops[0]) == root.path:
                yield ops[0], frozenset(), sides_differ(name, answer.differ, ops)
        together: dict[object, list[Missing]] = {}
        for missing in answer.missing:
            if _deep(missing.op) == root.path:
                ends = tuple(line_of(op) for pair in missing.lasts for op in pair)
                together.setdefault((missing.present, missing.absent, packed(missing.key), ends), []).append(missing)
        for several in together.values():
            several.sort(key=lambda missing: missing.op.site.frames()[0].span)
            yield several[0].op, frozenset(several[0].absent), unsent(self.engine.linker, root, name, several)

    def _left_out(self, path: str) -> Iterator[CodeFault]:
        """Give the calls of a file that leave out a group that their function was given, and ranks of a wrong kind."""
        engine = self.engine
        notes, engine.file_steps = len(engine.notes), 0
        facts = engine.linker.files.get(path)
        for definition in facts.definitions[1:] if facts is not None and not is_test(path) else ():
            yield from map(on_the_world, not_forwarded(engine, path, definition))
            yield from map(where_it_is_there, asked_and_left_out(engine, path, definition))
            yield from map(instead_of_none, falls_back(engine, path, definition))
            if makes_groups(definition):
                yield from (of_a_kind(found, definition, self.axes) for found in misfits(engine, path, definition))
        del engine.notes[notes:]

    def switched(self, paths: Iterable[str]) -> Switched:
        """Give, for each file, the calls of its functions that leave out a group without which they agree on nothing.

        The calls may stand in any file.
        """
        linker = self.engine.linker
        found: dict[str, list[CodeFault]] = {}
        asked: dict[str, set[int]] = {}
        for path in sorted(set(paths)):
            begun = linker.begin()
            linker.note("file", path)
            with known_places() as places:
                faults = [
                    settled(without_agreement(call), places)
                    for definition in linker.files[path].definitions[1:]
                    if optional_groups(definition)
                    for call in switched_off(self.engine, path, definition)
                ]
            reads = linker.end(begun)
            found[path], asked[path] = faults, reads.all() if reads is not None else set()
        return Switched(found, asked, linker.questions())


def _is_manager(definition: Definition) -> bool:
    return any(dotted(d).rpartition(".")[2] == "contextmanager" for d in definition.decorators)


def _depth(fault: Fault) -> int:
    if fault.node is not None:
        return len(fault.node.gate.site.frames())
    op = fault.stuck.arrived[0][1]
    return len(op.site.frames()) if "sized" in op.flags else 0


def _lists(op: Op) -> bool:
    return any(expr.var for expr in op.agree)


def _deep(op: Op) -> str:
    """Give the file where the call of an event stands in the root."""
    return op.site.frames()[0].span.path
