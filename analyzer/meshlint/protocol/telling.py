"""What each fault that was judged says: its code, where it is told, how sure it is, its message and its lines."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.mesh.blame import Fault
from meshlint.mesh.classify import Row, call_in_gate_function, code_of, row, way_out
from meshlint.mesh.dims import Axes
from meshlint.mesh.draw import draw, traces
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse
from meshlint.mesh.gate import Origin, atoms, shows_apart
from meshlint.mesh.group import Group
from meshlint.mesh.naming import legend
from meshlint.mesh.pairing import Instead, pairing
from meshlint.mesh.segment import condition_of
from meshlint.mesh.skeleton import skeleton
from meshlint.mesh.term import Alt, Site
from meshlint.place import Span
from meshlint.protocol.advice import advice
from meshlint.protocol.faults import CodeFault
from meshlint.protocol.packing import packed
from meshlint.protocol.roots import definition_at
from meshlint.protocol.summary import Engine
from meshlint.records import dataclass
from meshlint.told import told_line

SETTINGS_TOLD = 4
"""More settings than these explain nothing."""


@dataclass(frozen=True, slots=True)
class Teller:
    """Telling the faults that were judged in one program."""

    engine: Engine
    axes: Axes

    def told(self, fault: Fault, sided: bool) -> CodeFault:
        """Give what is told of a fault; `sided` where both sides of its gate make events, as they are written."""
        terms = self.engine.terms
        facts = row(terms, self.axes, fault)
        instead = pairing(terms, fault)
        op = fault.stuck.arrived[0][1]
        site = op.site if fault.node is None else call_in_gate_function(fault.node.gate, op.site)
        if fault.node is None and "sized" in op.flags:
            site = op.site.frames()[0]
        code = code_of(facts, all(packed(key) for key in facts.keys) if facts.keys else False)
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
        line = "" if fault.node is None else told_line(fault.node.gate.site.span)
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
        line = "" if fault.node is None else told_line(fault.node.gate.site.span)
        if fault.stuck.how == "root":
            end = "destination" if op.kind in ("gather", "gather_object", "reduce") else "source"
            head = f"{first} has a {end} that is not a member of the group."
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
            line = line if free is None else told_line(free)
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
        inner = (
            definition_at(self.engine.linker, below := frames[starts.index(start) + 1])
            if start in starts[:-1]
            else None
        )
        if inner is not None:
            told = f"`{inner.name}`, whose decorator lets only some ranks in"
            yield Related(Span(below.path, inner.line), told)

    def _scope(self, fault: Fault, site: Site) -> str:
        inner = definition_at(self.engine.linker, fault.node.gate.site.span if fault.node is not None else site.span)
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


def _guessed(fault: Fault) -> bool:
    """Say whether the gate or what is stuck rests on something that is not computed from coordinates."""
    if any("weak" in op.flags or any(atoms(expr) for expr in op.agree) for _, op in fault.stuck.arrived):
        return True
    if fault.node is None:
        return False
    return any(atom.var or atom.args[1:2] == (Origin.UNKNOWN,) for atom in atoms(condition_of(fault.node)))


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
