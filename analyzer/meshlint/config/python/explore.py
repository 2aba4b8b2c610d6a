"""Running an evaluation once for each variant: for each answer to the conditions that decide what matters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from meshlint.config.launch import Branch
from meshlint.config.python.flatten import Writes, data_of, rows
from meshlint.config.python.machine import MAX_STEPS, Caches, CallSite, Exhausted, Frame, Knowledge, Row, Sink
from meshlint.config.python.program import Module, Program
from meshlint.config.python.statements import Statements
from meshlint.config.python.values import ClassVal, Func, Leaf, Record, Seq, Site, Unknown, Unset, Val
from meshlint.config.value import Data
from meshlint.records import dataclass
from meshlint.sources.python import Source, uncollected

MAX_VARIANTS = 16
GENEROUS = 6_000_000
"""Steps over a whole tree within which each run may take its full number; Megatron-Bridge takes half a million."""
SHORT = 10_000
"""Steps of a run beyond that."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What one variant of an evaluation came to."""

    record: Record | None
    rows: tuple[Row, ...]
    sinks: tuple[Sink, ...]
    reads: tuple[str, ...]
    branches: tuple[Branch, ...] = ()
    failed: str = ""
    """Why nothing came of it: a bound, or a result that is no config object."""
    cut: bool = False
    """A bound was reached."""


@dataclass(slots=True, eq=False)
class Session:
    """Evaluations over one program with one framework's knowledge."""

    program: Program
    surface: str
    knowledge: Knowledge
    environment: Mapping[str, Data]
    caches: Caches
    writes: Writes = field(default_factory=Writes)
    spent: int = 0
    """Steps of all runs so far."""

    @classmethod
    def over(cls, program: Program, surface: str, knowledge: Knowledge, environment: Mapping[str, Data]) -> Session:
        """Start a session."""
        return cls(program, surface, knowledge, environment, Caches(surface))

    def anchor(self) -> Module:
        """Give an empty module: where something runs that stands in no file."""
        return Module("", Source("", ast.Module([], []), [""]), state="done")

    def machine(self, decisions: Mapping[Site, bool], argv: tuple[Leaf | Unknown, ...] | None = None) -> Statements:
        """Make a machine for one run."""
        return Statements(self.program, self.caches, self.knowledge, decisions, self.environment, argv)

    def function(self, module: Module, node: ast.FunctionDef, owner: str = "") -> list[Outcome]:
        """Evaluate a function, or a method of the class `owner`, by its defaults."""

        def run(machine: Statements) -> Val:
            cls = machine.member(module, owner or node.name)
            function = Func(node, module, owner=cls if isinstance(cls, ClassVal) else None)
            names: dict[str, Val] = {}
            if isinstance(cls, ClassVal) and node.args.args:
                names[node.args.args[0].arg] = Record(cls.name, cls, open="how it was made is not known")
                return machine.run_function(function, machine.with_defaults(function, names))
            return machine.call_function(function, CallSite(machine.caches.call(node), (), {}))

        return self.explore(module, run)

    def script(self, module: Module, argv: tuple[Leaf | Unknown, ...] | None = None) -> list[Outcome]:
        """Evaluate a file as the program that is started."""

        def run(machine: Statements) -> Val:
            run_main(machine, module)
            return Leaf(None)

        return self.explore(module, run, argv)

    def explore(
        self, module: Module, run: Callable[[Statements], Val], argv: tuple[Leaf | Unknown, ...] | None = None
    ) -> list[Outcome]:
        """Run for every answer to the conditions that decide something of interest, at most 16 times."""
        queue: list[dict[Site, bool]] = [{}]
        done: list[Outcome] = []
        while queue:
            decisions = queue.pop(0)
            with uncollected():
                outcome = self._once(module, run, decisions, argv)
            site = self._undecided(outcome, decisions)
            if site is not None and not outcome.cut and len(done) + len(queue) + 2 <= MAX_VARIANTS:
                queue[:0] = [{**decisions, site: True}, {**decisions, site: False}]
            else:
                done.append(outcome)
        return _distinct(done)

    def _once(
        self,
        module: Module,
        run: Callable[[Statements], Val],
        decisions: Mapping[Site, bool],
        argv: tuple[Leaf | Unknown, ...] | None,
    ) -> Outcome:
        machine = self.machine(decisions, argv)
        if module.path:
            machine.touched[module.path] = None
        machine.frame = Frame(module, {})
        machine.limit = MAX_STEPS if self.spent < GENEROUS else SHORT
        failed, cut = "", True
        value: Val = Leaf(None)
        try:
            value = run(machine)
            cut = False
        except Exhausted:
            failed = "it takes too many steps to evaluate"
        except RecursionError:
            failed = "it is nested too deeply to be evaluated"
        self.spent += machine.steps
        record = value if isinstance(value, Record) else None
        found = tuple(rows(record)) if record is not None else _as_row(value)
        if isinstance(value, Unknown):
            failed = failed or value.reason
        machine.undo(0)
        branches = tuple(Branch(site.text, taken, site.span) for site, taken in decisions.items())
        reads = tuple(self.program.tree.shown(Path(path)) if path[:1] == "/" else path for path in machine.touched)
        return Outcome(record, found, tuple(machine.sinks), reads, branches, failed, cut)

    def _undecided(self, outcome: Outcome, decisions: Mapping[Site, bool]) -> Site | None:
        interesting = self.knowledge.interesting
        found = [*outcome.rows, *(row for sink in outcome.sinks for row in sink.rows)]
        for row in found:
            if row.key and row.key.rsplit(".", 1)[-1] not in interesting:
                continue
            site = _site_of(row.value)
            if site is not None and site not in decisions:
                return site
        return None


def run_main(machine: Statements, module: Module) -> None:
    """Run a module's statements as `python file.py` does, in a namespace of its own."""
    main = Module(module.path, module.source, state="done")
    main.names["__file__"] = Leaf(module.path)
    main.names["__name__"] = Leaf("__main__")
    machine.frame = Frame(main, main.names)
    machine.execute(main.source.tree.body)


def _as_row(value: Val) -> tuple[Row, ...]:
    return (Row(0, "", value),) if isinstance(value, Unknown) else ()


def _site_of(value: object) -> Site | None:
    if isinstance(value, Unknown):
        return value.site
    if isinstance(value, Seq):
        return next((i.site for i in value.items if isinstance(i, Unknown) and i.site is not None), None)
    return None


def _distinct(outcomes: list[Outcome]) -> list[Outcome]:
    """Leave out variants that come to the same."""
    if len(outcomes) == 1:
        return outcomes
    found: dict[tuple[object, ...], Outcome] = {}
    for outcome in outcomes:
        found.setdefault(_essence(outcome), outcome)
    return list(found.values())


def _essence(outcome: Outcome) -> tuple[object, ...]:
    sinks = tuple((s.name, s.scope, _plain(s.rows)) for s in outcome.sinks)
    return (_plain(outcome.rows), sinks, outcome.failed)


def _plain(found: tuple[Row, ...]) -> tuple[object, ...]:
    return tuple((row.key, "" if isinstance(row.value, Unset) else repr(data_of(row.value))) for row in found)
