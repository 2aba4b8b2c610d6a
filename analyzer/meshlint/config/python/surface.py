"""A surface of Python files: functions that return a config, and scripts that hand one to what trains."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from meshlint.config.launch import Launch, Write
from meshlint.config.python.explore import Outcome, Session
from meshlint.config.python.flatten import Writes
from meshlint.config.python.machine import Knowledge, Row, Sink
from meshlint.config.python.program import Module, Program, functions, program_of
from meshlint.config.surface import Context
from meshlint.config.value import Value, unknown
from meshlint.place import Span
from meshlint.records import dataclass

ENVIRONMENT = "env_vars."


@dataclass(frozen=True, slots=True)
class PythonSurface:
    """A framework whose configs are Python.

    `speaks` tells by a file's text whether it takes part; `candidate` which functions could return a config;
    `accepts` whether what one returned is a config to launch; `entries_of` maps the functions that start something to
    the launch's entry; `complete` fills in the world from a launch's own writes.
    """

    name: str
    framework: str
    knowledge: Knowledge
    speaks: Callable[[str], bool]
    candidate: Callable[[ast.FunctionDef], bool]
    accepts: Callable[[Outcome], bool]
    entry_of: Callable[[Sink], str]
    complete: Callable[[Launch], Launch] = lambda launch: launch

    def claims(self, path: str) -> bool:
        """Claim Python files; what is in them is looked at when they are entries."""
        return path.endswith(".py")

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Judge files that speak of the framework; tests build configs that nobody launches."""
        program = program_of(context)
        return [path for path in paths if not is_test(path) and self.speaks(program.text(path))]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the launches of a file: its recipes, then what its own statements start."""
        session = self.session(context)
        module = session.program.module(path)
        if module is None:
            _note(session.program, path, context)
            return
        for node in functions(module.source.tree):
            if self.candidate(node):
                yield from self.recipe(session, module, node)
        yield from self.started(session, module)

    def session(self, context: Context) -> Session:
        """Give the evaluation session of a context."""
        known = context.shared.get(self.name)
        if not isinstance(known, Session):
            environment = {name: value.data for name, value in context.environment.items() if value.is_set}
            known = Session.over(program_of(context), self.name, self.knowledge, environment)
            context.shared[self.name] = known
        return known

    def recipe(self, session: Session, module: Module, node: ast.FunctionDef) -> Iterator[Launch]:
        """Give the variants of one recipe; nothing where it turns out to be a base or no recipe at all."""
        for outcome in session.function(module, node):
            if outcome.cut or self.accepts(outcome):
                place = module.source.span(node)
                yield self.launch(session, outcome, outcome.rows, "recipe", f"{module.path}::{node.name}", place)

    def launch(
        self, session: Session, outcome: Outcome, rows: tuple[Row, ...], entry: str, identity: str, place: Span
    ) -> Launch:
        """Make a launch of what an evaluation came to."""
        writes, environment = split(rows, session.writes)
        if outcome.failed and not rows:
            writes = (Write("*", unknown(outcome.failed)),)
        return self.complete(
            Launch(
                framework=self.framework,
                entry=entry,
                surface=self.name,
                identity=identity,
                place=_line(place),
                writes=writes,
                environment=environment,
                branches=outcome.branches,
                reads=frozenset(outcome.reads),
            )
        )

    def started(self, session: Session, module: Module) -> Iterator[Launch]:
        """Give what a file starts: as a script, else each of its functions that starts something by itself."""
        text = session.program.text(module.path)
        if not any(f"{name}(" in text for name in self.knowledge.sinks):
            return
        names = frozenset(self.knowledge.sinks)
        if not _calls_one_of(module.source.tree, names):
            return
        seen: set[str] = set()
        if has_main(module.source.tree):
            yield from self._of_sinks(session, session.script(module), module, seen)
        if session.program.in_package(module.path):
            return
        for node, owner in starters(module.source.tree, names):
            scope = f"{owner}.{node.name}" if owner else node.name
            if scope not in seen:
                yield from self._of_sinks(session, session.function(module, node, owner), module, seen)

    def _of_sinks(self, session: Session, outcomes: list[Outcome], module: Module, seen: set[str]) -> Iterator[Launch]:
        for outcome in outcomes:
            for number, (sink, rows) in enumerate(_merged(outcome.sinks)):
                if sink.module.path != module.path or not rows:
                    continue
                scope = sink.scope or "main"
                seen.add(sink.scope)
                identity = f"{module.path}::{scope}" + (f" {number + 1}" if number else "")
                place = module.source.span(sink.site.node)
                yield self.launch(session, replace(outcome, failed=""), rows, self.entry_of(sink), identity, place)


def split(rows: tuple[Row, ...], known: Writes) -> tuple[tuple[Write, ...], dict[str, Value]]:
    """Tell the writes of keys from those of environment variables (`env_vars.NAME`)."""
    writes = list(mark_repeated(known.write(row) for row in rows))
    environment = {w.key.removeprefix(ENVIRONMENT): w.value for w in writes if w.key.startswith(ENVIRONMENT)}
    return tuple(w for w in writes if not w.key.startswith(ENVIRONMENT)), environment


def mark_repeated(writes: Iterable[Write]) -> Iterator[Write]:
    """Mark the further write of a key that one YAML file gives twice; a file that is merged twice gives one place."""
    before: dict[str, Span] = {}
    for write in writes:
        span = write.value.span
        if span is None or not span.path.endswith((".yaml", ".yml")):
            before.pop(write.key, None)
            yield write
            continue
        last = before.get(write.key)
        again = last is not None and last.path == span.path and last != span
        yield replace(write, same_place=True) if again else write
        before[write.key] = span


def is_test(path: str) -> bool:
    """Say whether a file is a test: it makes configs to look at, not to launch."""
    parts = PurePosixPath(path).parts
    return "tests" in parts[:-1] or parts[-1].startswith("test_") or parts[-1] == "conftest.py"


def has_main(tree: ast.Module) -> bool:
    """Say whether a file can be started: it has an `if __name__ == "__main__"`, or calls at its top."""
    for statement in tree.body:
        if isinstance(statement, ast.If) and any(_is_name(n) for n in ast.walk(statement.test)):
            return True
        if _calls(statement) or (isinstance(statement, ast.With | ast.For) and any(map(_calls, statement.body))):
            return True
    return False


def _calls(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__name__"


def _line(span: Span) -> Span:
    """Give the first line of a stretch: where a function or call begins."""
    return Span(span.path, span.line, span.column)


def starters(tree: ast.Module, names: frozenset[str]) -> list[tuple[ast.FunctionDef, str]]:
    """Give the functions, of classes too, whose own statements call something that starts a run."""
    found: list[tuple[ast.FunctionDef, str]] = []
    for statement in tree.body:
        members = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        owner = statement.name if isinstance(statement, ast.ClassDef) else ""
        found += [(m, owner) for m in members if isinstance(m, ast.FunctionDef) and _calls_one_of(m, names)]
    return found


def _calls_one_of(node: ast.AST, names: frozenset[str]) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            name = getattr(inner.func, "attr", getattr(inner.func, "id", ""))
            if name in names:
                return True
    return False


def _merged(sinks: tuple[Sink, ...]) -> list[tuple[Sink, tuple[Row, ...]]]:
    """Join what is done to one object in one function: a provider is prepared, then built."""
    found: list[tuple[Sink, tuple[Row, ...]]] = []
    for sink in sinks:
        last = found[-1] if found else None
        if last and sink.record is not None and last[0].record is sink.record and last[0].scope == sink.scope:
            kept = tuple(row for row in last[1] if row.key.startswith("provider_init."))
            found[-1] = (last[0], (*sink.rows, *kept))
        else:
            found.append((sink, sink.rows))
    return found


def _note(program: Program, path: str, context: Context) -> None:
    for span, sentence in program.problems:
        if span.path == path:
            context.problem(span, sentence)
