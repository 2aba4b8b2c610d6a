"""Verdicts: which roots are judged, which faults stand, and what each fault says.

Every function is judged by itself first. A fault whose gate stands in a function that others call is told only if some
caller that was judged shows it too: a gate may be balanced by what the callers do. Work is bounded by counts: runs of
the simulation for one root, and nodes of a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import Any

from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.mesh import arms
from meshlint.mesh.blame import Fault, Judge, differing, without_adversaries
from meshlint.mesh.choose import Facts
from meshlint.mesh.classify import Row, call_in_gate_function, code_of, row, size_guards, way_out
from meshlint.mesh.dims import ALL, Axes
from meshlint.mesh.draw import draw, traces
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse
from meshlint.mesh.fast import Prover, varies
from meshlint.mesh.gate import Origin, atoms, show, shows_apart
from meshlint.mesh.group import Group
from meshlint.mesh.naming import legend
from meshlint.mesh.pairing import Instead, pairing
from meshlint.mesh.segment import condition_of
from meshlint.mesh.simulate import Options, Verdict
from meshlint.mesh.skeleton import skeleton
from meshlint.mesh.term import Alt, Loop, Op, Site, count, walk
from meshlint.mesh.term import Node as Term
from meshlint.place import Span
from meshlint.protocol import keeping
from meshlint.protocol.advice import advice
from meshlint.protocol.facts import Definition, FileFacts, Node, calls, dotted
from meshlint.protocol.forwarding import Omitted, falls_back, not_forwarded, optional_groups, switched_off
from meshlint.protocol.guards import cleared_names, last_alike, written
from meshlint.protocol.handed import given_away
from meshlint.protocol.kept import Kept, work_of
from meshlint.protocol.kinds import Misfit, makes_groups, misfits
from meshlint.protocol.link import function_at
from meshlint.protocol.nones import MIDDLE, may_return_nones, nones
from meshlint.protocol.pytests import is_test
from meshlint.protocol.roots import Root, function_of, root_term, roots_of
from meshlint.protocol.stages import STAGE_NAMES, Answer, Differ, Missing, Silent, ask, without_pipeline
from meshlint.protocol.summary import Engine, Exhausted, asks_for_stages, seeds
from meshlint.protocol.unbound import Unbound, unbound
from meshlint.protocol.unfilled import Unfilled, makes_room, unfilled
from meshlint.records import dataclass

RUNS_PER_ROOT = 400
RUNS_PER_PART = 64
NODES_PER_PART = 120
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

BATCH_KEYS = frozenset(("position_ids", "attention_mask", "num_seqs", "seq_lens", "seqlens"))
"""Keys of a batch that some programs turn into the layout of packed sequences."""

PACKED = ("cu_seqlens", "max_seqlen", "packed_seq", "cu_seqlen")

SIDES = ("the side that sends", "the side that receives")
SETTINGS_TOLD = 4
"""More settings than these explain nothing."""

UNFILLED = "|unfilled"
"""How the subject ends of what is told of buffers that nothing fills: where sides differ, that is why."""


def packed(key: str) -> bool:
    """Say whether a batch key carries the layout of packed sequences."""
    return key.startswith(PACKED)


def building_keys(facts: Iterable[FileFacts]) -> frozenset[str]:
    """Give the names from which the program builds packed parameters, beside those that say so themselves."""
    found: set[str] = set()
    for one in facts:
        for definition in one.definitions:
            if any("packed_seq_params" in c or c.endswith("PackedSeqParams") for c in definition.callees):
                for call in calls(definition.body):
                    if "packed_seq_params" in dotted(call[1]) or dotted(call[1]).endswith("PackedSeqParams"):
                        found.update(_named(call[2]), *(_named((value,)) for _, value in call[3]))
    return frozenset(found & BATCH_KEYS)


def _named(nodes: tuple[Node, ...]) -> Iterator[str]:
    for node in nodes:
        if node[0] == "N":
            yield node[1]
        elif node[0] == "S" and node[2][0] == "C" and isinstance(node[2][1], str):
            yield node[2][1]


@dataclass(frozen=True, slots=True)
class CodeFault:
    """One fault of the program, ready to be told. `subject` and `scope` enter the fingerprint."""

    code: str
    severity: Severity
    confidence: Confidence
    outcome: Outcome
    span: Span
    message: str
    related: tuple[Related, ...]
    subject: str
    scope: str
    skeleton: str = ""
    """Both arms of a program that shows it; see `meshlint.mesh.skeleton`."""
    fix: str = ""


@dataclass(slots=True)
class BoundedJudge(Judge):
    """A judge whose simulations are bounded for one root, and whose safe answers are shared by shape."""

    left: int = RUNS_PER_ROOT
    thorough: bool = False
    """Look for faults too that are never told by themselves: what a caller shows speaks for what its callee shows."""
    _safe_shapes: dict[tuple[int, Options, Facts], tuple[Verdict, int]] = field(default_factory=dict)
    """What was simulated without a fault, and in how many runs: each term pays for it as if it were the first."""
    _paid: set[tuple[int, Options, Facts]] = field(default_factory=set)
    """What the term that is judged has paid for."""

    def forget(self) -> None:
        """Let go of what one term was judged by, so that the next one finds the same whatever was judged before."""
        Judge.forget(self)
        self.prover = Prover(self.terms, self.axes)
        self._paid.clear()

    def _worth(self, part: Term) -> bool:
        """Say whether some gate of a part is no guess (see `_opaque`), or an event of it differs by itself."""
        if self.thorough:
            return True
        nodes = list(walk(part))
        gates = [node for node in nodes if isinstance(node, Alt | Loop) and condition_of(node).var]
        return not gates or not all(map(_opaque, gates)) or any(isinstance(n, Op) and varies(n) for n in nodes)

    def _verdict(self, term: Term, options: Options, facts: Facts) -> Verdict:
        options = replace(options, run_cap=min(options.run_cap, RUNS_PER_PART))
        key = (term.shape, options, facts)
        known = self._safe_shapes.get(key)
        if known is not None and key in self._paid:
            self.unjudged += not known[0].known
            return known[0]
        if self.left <= 0 or (term.size > NODES_PER_PART and count(term) > NODES_PER_PART):
            self.unjudged += 1
            return Verdict(None, False)
        if known is not None:
            self.unjudged += not known[0].known
            self.simulated += known[1]
        else:
            before = self.simulated
            known = Judge._verdict(self, term, options, facts), self.simulated - before
        self.left -= max(1, known[1])
        if known[0].run is None:
            self._safe_shapes[key] = known
            self._paid.add(key)
        return known[0]


@dataclass(slots=True)
class Found:
    """A fault and the root that shows it."""

    root: Root
    term: Term
    fault: Fault


@dataclass(frozen=True, slots=True)
class Judged:
    """What one term shows, alike whatever was judged before: `cost` is its part of what one file may cost."""

    faults: tuple[Fault, ...]
    unjudged: int
    cost: int
    cut_short: bool


Key = tuple[object, ...]
"""What one finding is about."""

Rank = tuple[int, str, int]
"""Which of several that show the same is told: the one with the fewest calls, then the first in the program."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What was found about a key; no fault where it does not stand."""

    key: Key
    rank: Rank
    fault: CodeFault | None
    absent: frozenset[int] = frozenset()
    """The stages that a key does not reach."""
    through: tuple[Span, ...] = ()
    """The calls by which stages come to what they disagree on."""


@dataclass(slots=True)
class Part:
    """What the roots of some files show."""

    own: list[Standing] = field(default_factory=list)
    stages: list[Standing] = field(default_factory=list)
    omitted: list[CodeFault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Units:
    """What files show, each by itself; and the numbers of the questions that each rests on, if they were noted."""

    parts: dict[str, Part] = field(default_factory=dict)
    asked: dict[str, set[int]] = field(default_factory=dict)
    questions: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(slots=True)
class Switched:
    """What the callers of the functions of each file leave out, and the numbers of the questions it rests on."""

    faults: dict[str, list[CodeFault]] = field(default_factory=dict)
    asked: dict[str, set[int]] = field(default_factory=dict)
    questions: list[tuple[Any, ...]] = field(default_factory=list)


def merged(parts: Iterable[Part]) -> list[CodeFault]:
    """Give what stands after all parts of a program were judged, in order of place."""
    parts = list(parts)
    own = _best(standing for part in parts for standing in part.own)
    shown_there = frozenset(fault.span for fault in own if fault.code == "PKD007")
    asked = [standing for part in parts for standing in part.stages if shown_there.isdisjoint(standing.through)]
    stages = _best(_outermost(asked))
    gone = {_holder(fault) for fault in stages if fault.code == "PKD007"}
    part = {_holder(fault) for fault in stages if fault.code == "COL003"}
    own = [fault for fault in own if not (fault.subject.endswith(UNFILLED) and _holder(fault) in part)]
    told = {_name(fault): fault for fault in own if not (fault.code == "COL003" and _holder(fault) in gone)}
    shown = {(fault.code, _holder(fault)) for fault in told.values()}
    told |= {_name(fault): fault for fault in stages if (fault.code, _holder(fault)) not in shown}
    told |= {_name(fault): fault for part in parts for fault in part.omitted}
    grouped = {fault.span for fault in told.values() if fault.code.startswith("GRP")}
    removed = {f.span: f for f in told.values() if f.code.startswith("COL") and f.span in grouped}
    left = [_stranding(fault, removed.get(fault.span)) for fault in told.values() if not _covered(fault, grouped)]
    return sorted(left, key=lambda fault: (fault.span, fault.code, fault.subject))


def _covered(fault: CodeFault, grouped: set[Span]) -> bool:
    return fault.code.startswith("COL") and fault.span in grouped


def _stranding(fault: CodeFault, stuck: CodeFault | None) -> CodeFault:
    """Let a call on the wrong group that only some ranks reach end as that does; `stuck` is what it removes."""
    if fault.code != "GRP003" or stuck is None or stuck.severity is Severity.INFO:
        return fault
    message = f"{fault.message} Not all ranks of the job reach it.\n\n{stuck.message.partition(_PARAGRAPH)[2]}"
    shown = stuck.skeleton or fault.skeleton
    return replace(fault, message=message, outcome=stuck.outcome, skeleton=shown)


_PARAGRAPH = "\n\n"


def _holder(fault: CodeFault) -> tuple[str, str]:
    """Give the function of a fault, which bears its name in its own file alone."""
    return fault.span.path, fault.scope


def _name(fault: CodeFault) -> str:
    return fault.subject + str(fault.span)


def _outermost(standings: list[Standing]) -> Iterator[Standing]:
    """Leave out the callers of a function that shows by itself that a key misses the same stages."""
    known: dict[object, list[Standing]] = {}
    for standing in standings:
        known.setdefault(standing.key[:3], []).append(standing)
    for standing in standings:
        near = known[standing.key[:3]]
        if not any(other.rank[0] < standing.rank[0] and standing.absent <= other.absent for other in near):
            yield standing


def _best(standings: Iterable[Standing]) -> list[CodeFault]:
    """Give the fault of the first of each key, if that one stands."""
    found: dict[Key, Standing] = {}
    for standing in standings:
        known = found.get(standing.key)
        if known is None or standing.rank < known.rank:
            found[standing.key] = standing
    first = sorted(found.values(), key=lambda standing: (standing.rank, str(standing.key)))
    return [standing.fault for standing in first if standing.fault is not None]


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

    def part(self, paths: Iterable[str]) -> Part:
        """Judge every root in some files by itself."""
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
            parts[path].omitted = list(self._left_out(path))
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
        inner = self._function(gate)
        roots = roots_of(self.engine, gate.path, inner) if inner is not None else ()
        return any(
            isinstance(node, Alt | Loop)
            and node.gate.site.span == gate
            and condition_of(node).var
            and not any(group.unknown for group in node.groups)
            for root in roots
            for node in walk(self._term(root) or self.engine.terms.nil)
        )

    def _function(self, span: Span) -> Definition | None:
        linker = self.engine.linker
        found = function_at(linker, span.path, span.line)
        if found is None:
            linker.note("file", span.path)
        else:  # as long as its lines are the same, it holds this one, wherever both stand
            linker.note("body", span.path, found.index)
        return found

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
        if any(_opaque(gate) for gate in (node, *differing(found.fault.run, found.fault.stuck))):
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
        inner = self._function(gate)
        if inner is None:
            return False
        calls = {call_in_gate_function(node.gate, op.site).span for _, op in fault.stuck.arrived}
        return any(given_away(self.engine.linker, gate.path, inner, gate.line, call) for call in calls)

    def _elsewhere(self, root: Root, gate: Span) -> bool:
        """Say whether a gate stands in another function than the root: a context manager has no call of its own."""
        inner = self._function(gate)
        return inner is not None and _is_manager(inner) and (gate.path, inner.index) != (root.path, root.index)

    def _silent_itself(self, gate: Span) -> bool:
        """Say whether the function of a gate, judged without any caller, shows the gate and no fault of it."""
        inner = self._function(gate)
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
                group, test = self.label(guard.op.group), self.axes.label(guard.mask)
                message = (
                    f"`{guard.op.kind}` on the {group} group is left out where the {test} size is one, although the "
                    f"{group} group may still hold several ranks."
                )
                related = (Related(guard.node.gate.site.span, "the test of another size"),)
                fault = CodeFault(
                    "GRP004", Severity.WARNING, Confidence.MEDIUM, Outcome.WRONG, site.span, message, related,
                    f"{name}|{group}|{guard.op.kind}", name,
                    arms.size_of_another(guard.node.gate.site.span, test, group, arms.Step(guard.op.kind, site.span)),
                    advice("GRP004", group, 0),
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
                ops = [op for op in walk(self._known(root)) if isinstance(op, Op) and _frame(op).path == root.path]
                op = next((op for op in ops if found.line <= _frame(op).line <= definition.end_line), None)
                if op is not None:
                    yield self._without_name(root, found, op, definition.qualname)

    def _without_name(self, root: Root, found: Unbound, op: Op, name: str) -> Standing:
        message = (
            f"`{found.name}` is set by the loop on line {found.loop} only where an element of `{found.sequence}` is "
            f"not None: a rank that has none of them stops here, and the others wait in `{op.kind}` on line "
            f"{_frame(op).line}."
        )
        span = Span(root.path, found.line, 1)
        related = (Related(_frame(op), "where the others wait"),)
        grade = (Severity.INFO, Confidence.MEDIUM, Outcome.HANG)
        loop, call = Span(root.path, found.loop, 1), arms.Step(op.kind, _frame(op))
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
        """Find events that each rank makes in its own order, in loops of the function itself."""
        for root in roots:
            for node in walk(self._known(root)):
                if not isinstance(node, Loop) or node.gate.form != "unordered" or len(node.gate.site.frames()) > 1:
                    continue
                ops = [op for op in walk(node.body) if isinstance(op, Op) and set(op.flags) & {"turn", "turn of group"}]
                if ops:
                    yield self._out_of_turn(root, node, next((op for op in ops if "turn of group" in op.flags), ops[0]))

    def _out_of_turn(self, root: Root, node: Loop, op: Op) -> Standing:
        name = self.engine.linker.definition(root.path, root.index).qualname
        site = call_in_gate_function(node.gate, op.site)
        chosen = "turn of group" in op.flags
        what = "the group is chosen by the element" if chosen else "what is sent is the element's"
        message = (
            f"The loop on line {node.gate.site.span.line} goes through its elements in an order that each rank has for "
            f"itself, and {what}: `{op.kind}` meets that of another element on another rank."
        )
        grade = (Severity.WARNING if chosen else Severity.INFO, Confidence.MEDIUM, Outcome.HANG)
        related = (Related(node.gate.site.span, "the loop"),)
        shown = arms.out_of_turn(node.gate.site.span, arms.Step(op.kind, site.span), chosen)
        fault = CodeFault(
            "COL004",
            *grade,
            site.span,
            message,
            related,
            f"{name}|order|{op.kind}",
            name,
            shown,
            "Go through the elements in one order on all ranks: that of the parameters, or sorted by name.",
        )
        return Standing((site.span, "COL004 order"), (1, root.path, root.index), fault)

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
                yield ops[0], frozenset(), self._differing(name, answer.differ, ops)
        together: dict[object, list[Missing]] = {}
        for missing in answer.missing:
            if _deep(missing.op) == root.path:
                ends = tuple(_line(op) for pair in missing.lasts for op in pair)
                together.setdefault((missing.present, missing.absent, packed(missing.key), ends), []).append(missing)
        for several in together.values():
            several.sort(key=lambda missing: missing.op.site.frames()[0].span)
            yield several[0].op, frozenset(several[0].absent), self._unsent(root, name, several)

    def _differing(self, name: str, differ: Differ, ops: list[Op]) -> CodeFault:
        stage = STAGE_NAMES[differ.stages][differ.stage]
        site = ops[0].site.frames()[0]
        spans = [_apart(op, [o for o in ops if o is not op]) if op else None for op in differ.heads]
        sides = [
            f"`{', '.join(op.keys)}` on {_where(span, site.span)}" if op and span else "nothing more"
            for op, span in zip(differ.heads, spans, strict=True)
        ]
        message = (
            f"On the {stage} pipeline stage the tensor-parallel rank that sends the batch and those that receive it "
            f"disagree {_when(differ)}: the first rank comes to {sides[0]}, the others to {sides[1]}."
        )
        layout = all(any(packed(key) for key in op.keys) for op in ops)
        sure = not differ.key and differ.on < 2
        meets = differ.even and not layout
        if len(ops) == 2 and not layout:
            message += (
                " Both call as often: what is sent comes where something else is expected."
                if meets
                else (" One side calls more often than the other, and is left waiting.")
            )
        return CodeFault(
            "PKD007" if layout else "COL003",
            Severity.ERROR if sure else Severity.WARNING, Confidence.HIGH if sure else Confidence.MEDIUM,
            Outcome.WRONG if meets else Outcome.HANG, site.span, message,
            tuple(
                Related(span, f"where {who} stands")
                for span, who in zip(spans, SIDES, strict=True)
                if span is not None and span != site.span
            ),
            f"{name}|{stage}|{','.join(ops[0].keys)}", name, arms.sides_apart(stage, *map(_side, differ.heads)),
            advice("PKD007", "tp", 0),
        )  # fmt: skip

    def _unsent(self, root: Root, name: str, several: list[Missing]) -> CodeFault:
        missing = several[0]
        keys = " and ".join(f"`{one.key}`" for one in several)
        present = " and ".join(STAGE_NAMES[missing.stages][stage] for stage in missing.present)
        absent = " and ".join(STAGE_NAMES[missing.stages][stage] for stage in missing.absent)
        message = (
            f"{keys} {'is' if len(several) == 1 else 'are'} handed on to the tensor-parallel ranks of the {present} "
            f"pipeline stage, and not on the {absent}: attention there runs without the layout of the packed sequences."
        )
        sent = missing.op.site.frames()[0].span
        ends = [(STAGE_NAMES[missing.stages][s], *pair) for s, pair in zip(missing.absent, missing.lasts, strict=True)]
        stage, sender, receiver = ends[-1]
        behind, others = (self._behind(root, op) for op in (sender, receiver))
        span, related = sent, []
        if behind is not None and others is not None:
            span = behind
            related = [Related(others, f"and the others take no more than this on the {stage} stage")]
            related.append(Related(sent, f"{keys} on the {STAGE_NAMES[missing.stages][missing.present[0]]} stage"))
            message += f" On the {stage} stage the sending rank comes as far as here, without {keys}."
        grade = (Severity.ERROR, Confidence.HIGH) if packed(missing.key) else (Severity.WARNING, Confidence.MEDIUM)
        subject = f"{name}|{','.join(one.key for one in several)}|{absent}"
        fix = self._sending(root, several, behind, others) or f"Send {keys} on the {absent} stage too."
        places = tuple(one for one in related if one.span != span)
        sent_keys = [arms.Key(one.key, _frame(one.op), _frame(one.taken)) for one in several]
        shown = arms.unsent(sent_keys, STAGE_NAMES[missing.stages], missing.absent, span if span != sent else None)
        return CodeFault("PKD001", *grade, Outcome.WRONG, span, message, places, subject, name, shown, fix)

    def _behind(self, root: Root, op: Op | None) -> Span | None:
        """Give the place behind which a further event belongs: the last of the calls like this one, in a row."""
        if op is None or _frame(op).path != root.path:
            return None
        call = last_alike(self.engine.linker.definition(root.path, root.index).body, _frame(op).line)
        return _frame(op) if call is None else Span(root.path, call[4], call[5], call[6], call[7])

    def _sending(self, root: Root, several: list[Missing], sender: Span | None, receiver: Span | None) -> str:
        """Say what to write, and behind which lines, on both sides of a stage that a key misses."""
        body = self.engine.linker.definition(root.path, root.index).body
        sides = []
        for end, ops in ((sender, [one.op for one in several]), (receiver, [one.taken for one in several])):
            if end is None:
                return ""
            lines = [written(body, _frame(op).line) for op in ops if _frame(op).path == root.path]
            if len(lines) < len(several) or not all(lines):
                return ""
            cleared = cleared_names(body, end.line, lines)
            without = f", without setting {' and '.join(cleared)} to None before" if cleared else ""
            sides.append(f"behind line {end.line}: {'; '.join(lines)}{without}")
        if sides[0] == sides[1]:
            return f"Send it there too, {sides[0]}."
        return f"Send it there too. On the sending rank, {sides[0]}. On the others, {sides[1]}."

    def _left_out(self, path: str) -> Iterator[CodeFault]:
        """Give the calls of a file that leave out a group that their function was given, and ranks of a wrong kind."""
        engine = self.engine
        notes, engine.file_steps = len(engine.notes), 0
        facts = engine.linker.files.get(path)
        for definition in facts.definitions[1:] if facts is not None and not is_test(path) else ():
            yield from map(_on_the_world, not_forwarded(engine, path, definition))
            yield from map(_instead_of_none, falls_back(engine, path, definition))
            if makes_groups(definition):
                yield from (_of_a_kind(found, definition, self.axes) for found in misfits(engine, path, definition))
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
            faults = [
                _without_agreement(call)
                for definition in linker.files[path].definitions[1:]
                if optional_groups(definition)
                for call in switched_off(self.engine, path, definition)
            ]
            reads = linker.end(begun)
            found[path], asked[path] = faults, reads.all() if reads is not None else set()
        return Switched(found, asked, linker.questions())

    # -- telling -------------------------------------------------------------------------------------------------

    def _told(self, found: Found) -> CodeFault:
        fault = found.fault
        terms = self.engine.terms
        facts = row(terms, self.axes, fault)
        instead = pairing(terms, fault)
        op = fault.stuck.arrived[0][1]
        site = op.site if fault.node is None else call_in_gate_function(fault.node.gate, op.site)
        if fault.node is None and "sized" in op.flags:
            site = op.site.frames()[0]
        code = code_of(facts, all(packed(key) for key in facts.keys) if facts.keys else False)
        sided = fault.node is not None and fault.node.gate.site.span in self.two_sided[found.root]
        if code in ("COL001", "COL002") and sided:
            code = "COL003"
        if code == "COL002" and fault.node is not None and fault.node.gate.exit_site is not None:
            site = fault.node.gate.exit_site
        late = code == "COL003" and not sided and facts.how == "wait"
        deeper = way_out(fault) if (code == "COL001" or late) and not facts.inside else None
        if deeper is not None:
            code, site = "COL002", deeper
        severity = self._severity(fault, facts, code)
        outcome = _outcome(fault, instead)
        group = self.label(fault.stuck.group)
        line = 0 if fault.node is None else fault.node.gate.site.span.line
        return CodeFault(
            code=code,
            severity=severity,
            confidence=Confidence.HIGH if severity is Severity.ERROR else Confidence.MEDIUM,
            outcome=outcome,
            span=site.span,
            message=self._message(fault, instead, group, severity),
            related=tuple(self._related(fault, instead, site)),
            subject=f"{self._scope(fault, site)}|{group}|{op.kind}",
            scope=self._scope(fault, site),
            skeleton=skeleton(terms, fault),
            fix=advice(code, group, line),
        )

    def label(self, group: Group) -> str:
        """Name a group as messages do."""
        if group.unknown:
            return f"`{group.name}`"
        if group.lists is not None:
            return group.name
        return group.identity if group.identity and ":" not in group.identity else self.axes.label(group.dims)

    def _severity(self, fault: Fault, facts: Row, code: str) -> Severity:
        if code == "COL006" or facts.local:
            shown = fault.node is not None and shows_apart(condition_of(fault.node))
            return Severity.WARNING if shown else Severity.INFO
        if any(expr.local for _, op in fault.stuck.arrived for expr in op.agree):
            return Severity.INFO
        sure = not fault.weak and fault.grade == "mesh" and not _guessed(fault)
        return Severity.ERROR if sure else Severity.WARNING

    def _message(self, fault: Fault, instead: tuple[Instead, ...], group: str, severity: Severity) -> str:
        op = fault.stuck.arrived[0][1]
        first = f"`{op.kind}` on the {group} group"
        line = 0 if fault.node is None else fault.node.gate.site.span.line
        if fault.stuck.how == "root":
            head = f"{first} names a source that is not a member of the group."
        elif fault.node is None and "sized" in op.flags:
            head = f"{first} is given other numbers of elements on other ranks."
            if _sends_more(fault):
                head += " The source sends more than others make room for, and the rest is cut off."
        elif fault.node is None:
            head = f"{first} is called with arguments that differ between its ranks."
        elif fault.stuck.how == "clash":
            head = f"Ranks of one {group} group make different calls after the gate on line {line}."
        elif fault.node.gate.form == "except":
            head = f"{first} is not reached by a rank that goes into the handler on line {line}."
        elif _all_may_leave(fault):
            head = f"{first} is not reached by all of its ranks: those that do not wait there may leave by line {line}."
        elif severity is Severity.INFO:
            free = _free_gate(fault)
            line = line if free is None else free.line
            head = f"{first} may not be reached by all of its ranks: each decides line {line} for itself."
        else:
            head = f"{first} is not reached by all of its ranks: the gate on line {line} divides them."
        drawn = "\n".join(filter(None, (draw(fault, instead), legend(fault, instead))))
        return "\n\n".join([head + _shown_with(fault), drawn, traces(fault)])

    def _related(self, fault: Fault, instead: tuple[Instead, ...], site: Site) -> Iterator[Related]:
        seen = {site.span}
        if fault.node is not None and fault.node.gate.site.span not in seen:
            seen.add(fault.node.gate.site.span)
            told = "the way out" if _all_may_leave(fault) else "the gate that divides the ranks"
            yield Related(fault.node.gate.site.span, told)
        op = fault.stuck.arrived[0][1]
        free = _free_gate(fault)
        if free is not None and free not in seen:
            seen.add(free)
            yield Related(free, "what each rank decides for itself")
        if fault.node is not None and fault.node.gate.form == "decorator":
            yield from self._decorated(fault.node.gate.site, op.site)
        for frame in op.site.frames():
            if frame.span not in seen:
                seen.add(frame.span)
                through = f"through `{frame.label}`" if frame.label else "through this call"
                yield Related(frame.span, f"where `{op.kind}` is called" if frame is op.site else through)
        for item in instead:
            if item.op is not None and item.op.site.span not in seen:
                seen.add(item.op.site.span)
                yield Related(item.op.site.span, "where the others go instead")

    def _decorated(self, gate: Site, site: Site) -> Iterator[Related]:
        """Give the function whose decorator is a gate: it is the one that the call goes into."""
        frames = [frame.span for frame in site.frames()]
        starts = [(span.path, span.line, span.column) for span in frames]
        start = (gate.span.path, gate.span.line, gate.span.column)
        inner = self._function(below := frames[starts.index(start) + 1]) if start in starts[:-1] else None
        if inner is not None:
            told = f"`{inner.name}`, whose decorator lets only some ranks in"
            yield Related(Span(below.path, inner.line), told)

    def _scope(self, fault: Fault, site: Site) -> str:
        inner = self._function(fault.node.gate.site.span if fault.node is not None else site.span)
        return inner.qualname if inner is not None else ""


def _shown_with(fault: Fault) -> str:
    """Name the settings that the run which shows a fault went by, if they are few."""
    chosen = [c for c in fault.run.choices if c.atom.op == "atom" and c.atom.args[1] is Origin.CONFIG]
    words = []
    for choice in chosen:
        name = str(choice.atom.args[0]).rpartition(".")[2]
        if not name.isidentifier() or not isinstance(choice.value, bool):
            return ""
        words.append(f"`{name}` {'on' if choice.value else 'off'}")
    if not 0 < len(words) <= SETTINGS_TOLD:
        return ""
    return f" In the run that shows it: {', '.join(words)}."


def _free_gate(fault: Fault) -> Span | None:
    """Give the test of a rank's own data behind a blamed gate that tests none; None where it does, or there is none."""
    if fault.node is None or fault.grade != "local" or condition_of(fault.node).local:
        return None
    path = fault.node.gate.site.span.path
    taken = (one.node for ranks in fault.run.paths for one in ranks)
    spans = [node.gate.site.span for node in taken if condition_of(node).local and node.gate.form != "except"]
    return next((span for span in spans if span.path == path), None)


def _all_may_leave(fault: Fault) -> bool:
    """Say whether the blamed gate divides no ranks: all leave by it, before some come to what others wait at."""
    return isinstance(fault.node, Alt) and bool(fault.node.gate.leaves) and not fault.node.condition.var


def _frame(op: Op) -> Span:
    """Give the place of an event in the function that is judged."""
    return op.site.frames()[0].span


def _apart(op: Op, others: list[Op]) -> Span:
    """Give the call of an event that the others do not come through: further down where they share the first."""
    frames = op.site.frames()
    depth = 0
    for other in others:
        away = other.site.frames()
        while depth + 1 < min(len(frames), len(away)) and frames[depth].span == away[depth].span:
            depth += 1
    return frames[depth].span


def _where(span: Span, near: Span) -> str:
    return f"line {span.line}" if span.path == near.path else f"{span.path}:{span.line}"


def _side(op: Op | None) -> tuple[arms.Step, arms.Key] | None:
    """Give what one side of a batch comes to; None for nothing more."""
    return None if op is None else (arms.Step(op.kind, _frame(op)), arms.Key(" ".join(op.keys)))


def _line(op: Op | None) -> Span | None:
    return None if op is None else _frame(op)


def _when(differ: Differ) -> str:
    if differ.key:
        return f"as soon as the batch holds `{differ.key}`"
    return "whatever the batch holds" + (f", with {' and '.join(differ.needs)}" if differ.needs else "")


def _is_manager(definition: Definition) -> bool:
    return any(dotted(d).rpartition(".")[2] == "contextmanager" for d in definition.decorators)


def _on_the_world(found: Omitted) -> CodeFault:
    message = (
        f"`{found.callee}` works on the world group, although this function was given `{found.parameter}` and uses it "
        f"elsewhere."
    )
    given, omitted = arms.Step(found.uses, found.used or found.other), arms.Step(found.does, found.span)
    name, dim = found.scope.rpartition(".")[2], "-".join(found.dims)
    shown = arms.over_the_world(name, found.parameter, dim, found.taker, given, omitted)
    return _left_out("GRP003", found, message, Outcome.WRONG, "where the group is passed", shown)


def _instead_of_none(found: Omitted) -> CodeFault:
    message = (
        f"`{found.callee}` sums over the world group where `{found.parameter}` is None: without that parallelism there "
        f"is nothing to sum over, and ranks that hold other data are mixed."
    )
    given, omitted = arms.Step(found.uses, found.used or found.other), arms.Step(found.does, found.span)
    shown = arms.instead_of_none(found.scope.rpartition(".")[2], found.parameter, found.taker, given, omitted)
    fault = _left_out("GRP003", found, message, Outcome.WRONG, "where the group is passed", shown)
    fix = f"Leave the call out where `{found.parameter}` is None."
    return replace(fault, severity=Severity.INFO, confidence=Confidence.LOW, fix=fix)


def _without_agreement(found: Omitted) -> CodeFault:
    message = (
        f"`{found.callee}` agrees with the other ranks only if it is given `{found.parameter}`, which this call leaves "
        f"out: each rank goes on with its own value."
    )
    agrees = arms.Step(found.uses, found.used or found.taker)
    shown = arms.without_agreement(found.callee, found.parameter, found.taker, agrees, found.span)
    return _left_out("GRP005", found, message, Outcome.HANG, "a call that gives it", shown)


def _of_a_kind(found: Misfit, definition: Definition, axes: Axes) -> CodeFault:
    if found.node:
        message = (
            f"`{found.text}` is the rank inside of a node and is given as the rank in the job: with a second node two "
            f"processes come with one rank."
        )
        fix = "Give RANK of the environment, or leave `rank` and `world_size` out, which the launcher sets."
        grade = (Severity.WARNING, Confidence.MEDIUM, Outcome.HANG)
        shown = arms.rank_of_a_node(found.span, found.text)
    else:
        message = (
            f"`{found.text}` is a place in a group and is looked for among ranks of the whole job, from which groups "
            f"are made here: in every instance but the first it finds another list, or none."
        )
        fix = "Look for the rank in the whole job, `torch.distributed.get_rank()`, among ranks of the whole job."
        grade = (Severity.ERROR, Confidence.HIGH, Outcome.WRONG)
        shown = arms.place_among_ranks(found.span, axes.label(found.dims) if found.dims else "")
    name = definition.qualname
    made = (Related(Span(found.span.path, found.made), f"where `{found.text}` is made"),) if found.made else ()
    return CodeFault("GRP002", *grade, found.span, message, made, f"{name}|{found.text}", name, shown, fix)


def _left_out(code: str, found: Omitted, message: str, outcome: Outcome, label: str, shown: str) -> CodeFault:
    related = (Related(found.other, label),)
    subject = f"{found.scope}|{found.parameter}|{found.callee}"
    grade = (Severity.WARNING, Confidence.MEDIUM, outcome)
    fix = f"Pass `{found.parameter}` in this call too."
    return CodeFault(code, *grade, found.span, message, related, subject, found.scope, shown, fix)


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


def _guessed(fault: Fault) -> bool:
    """Say whether the gate or what is stuck rests on something that is not computed from coordinates."""
    if any("weak" in op.flags or any(atoms(expr) for expr in op.agree) for _, op in fault.stuck.arrived):
        return True
    if fault.node is None:
        return False
    return any(atom.var or atom.args[1:2] == (Origin.UNKNOWN,) for atom in atoms(condition_of(fault.node)))


def _opaque(node: Alt | Loop) -> bool:
    """Say whether a gate rests on an unknown function of what varies."""
    facts = [atom for atom in atoms(condition_of(node)) if atom.op == "atom"]
    return any(atom.var and not atom.local and not shows_apart(atom) for atom in facts)


def _outcome(fault: Fault, instead: tuple[Instead, ...]) -> Outcome:
    sure = fault.grade != "local" and fault.stuck.how == "wait"
    if sure and all(item.outcome == "pairs" and item.left is None for item in instead):
        return Outcome.WRONG
    if fault.node is None and _sends_more(fault):
        return Outcome.WRONG
    return Outcome.CRASH_LATE if fault.stuck.how == "root" else Outcome.HANG


def _sends_more(fault: Fault) -> bool:
    """Say whether the source of a broadcast sends more than others make room for: measured, the rest is cut off."""
    arrived = {rank: op for rank, op in fault.stuck.arrived if "sized" in op.flags and op.root is not None}
    layout = Layout(fault.run.mesh)
    try:
        sizes = {rank: evaluate(op.agree[-1], View(layout, rank, lambda atom: 1)) for rank, op in arrived.items()}
        roots = [evaluate(op.root, View(layout, rank, refuse)) for rank, op in arrived.items() if op.root is not None]
    except Unresolvable:
        return False
    return bool(roots) and roots[0] in sizes and sizes[roots[0]] > min(sizes.values())


__all__ = ["ALL", "CodeFault", "Part", "Switched", "Units", "Verdicts", "merged", "packed"]
