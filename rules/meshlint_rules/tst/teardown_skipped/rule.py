"""TST002: a teardown of model parallelism that an early return or a failed assertion skips."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.protocol.facts import Definition, FileFacts, Node, calls, dotted
from meshlint.protocol.pytests import BEHIND, Test, fixture_scope, is_test_file, reached, tests_of
from meshlint.records import dataclass
from meshlint.rule import Fix, Outcome, ProgramRule, Reference, Related, Severity, Span, Verdict
from meshlint.words import plural

if TYPE_CHECKING:
    from meshlint.protocol.program import Program

STARTS = ("initialize_model_parallel", "init_process_group", "initialize_distributed")
ENDS = ("destroy_model_parallel", "destroy_process_group")
LATER = ("addCleanup", "addfinalizer", "callback", "register")
"""Calls that hand a function on to be run whatever happens."""


class TeardownSkipped(ProgramRule):
    """A test tears model parallelism down as its last step, and some way out of it never gets there.

    ## What it does

    Finds tests that build groups and tear them down themselves, in a plain statement, with a `return` or a
    `pytest.skip` between the two (a warning), or an assertion (an info, one a file). It is silent where a `finally`,
    a fixture of the file or of a `conftest.py` around it, a teardown method or a registered cleanup does it.

    ## Why this is bad

    The groups of this test stay for the next one in the process. That one fails though nothing is wrong with it
    ("already initialized"), or runs on groups of the wrong size; on some ranks only, where only some left early, and
    then the others wait in the first collective.

    ## Example

    ```python
    def test_split():
        Utils.initialize_model_parallel(2, 1)
        if not mpu.is_pipeline_last_stage():
            return
        assert loss() < 1
        Utils.destroy_model_parallel()
    ```

    ## Use instead

    ```python
    @pytest.fixture
    def groups():
        Utils.initialize_model_parallel(2, 1)
        yield
        Utils.destroy_model_parallel()
    ```

    ## References/versions

    Every version so far; pytest's and unittest's ways of cleaning up are known.
    """

    code = "TST002"
    slug = "teardown-skipped"
    severity = Severity.WARNING
    outcomes = (Outcome.CRASH_LATE, Outcome.NONE)
    preview = True
    tests = True
    references = (
        Reference("megatron/core/parallel_state.py at core_v0.16.1: groups are global, 'already initialized'"),
        Reference("docs.pytest.org: code behind the yield of a fixture runs whatever the test does"),
    )

    def check(self, program: Program) -> Iterator[Verdict]:
        """Look at the test files that tear down."""
        for path in program.files:
            if not is_test_file(path) or path not in program.read:
                continue
            facts = program.read[path]
            if any(_names(definition, ENDS) for definition in facts.definitions):
                yield from _file(facts, program)


def _names(definition: Definition, names: tuple[str, ...]) -> bool:
    return any(text.rpartition(".")[2] in names for text in definition.callees)


def _file(facts: FileFacts, program: Program) -> Iterator[Verdict]:
    asserted: list[tuple[Test, Leak]] = []
    for test in tests_of(facts, program.read):
        if not _names(test.definition, STARTS) or not _names(test.definition, ENDS) or _is_covered(test):
            continue
        leaks = _leaks(test.definition)
        left = [leak for leak in leaks if leak.how != "assert"]
        if left:
            yield _left(test, left)
        elif leaks:
            asserted.append((test, leaks[0]))
    if asserted:
        yield _asserted(asserted)


def _is_covered(test: Test) -> bool:
    """Say whether something tears down whatever the test does."""
    if _names(test.definition, LATER) or any(_tears(test.facts, one) for one in test.around(BEHIND)):
        return True
    own = (pair for pair in test.fixtures if fixture_scope(pair[1]) != "session")
    return any(_tears(facts, definition) for facts, definition in own)


def _tears(facts: FileFacts, definition: Definition) -> bool:
    return any(dotted(call[1]).rpartition(".")[2] in ENDS for _, call in reached(facts, definition))


@dataclass(frozen=True, slots=True)
class Leak:
    """A way out of a test past its teardown: by `return`, `skip` or `assert`; groups are built on line `start`."""

    how: str
    line: int
    start: int


def _leaks(definition: Definition) -> list[Leak]:
    """Give the ways out of a test while its groups stand and are torn down further down."""
    walk = _Walk([])
    walk.block(definition.body, 0, False)
    last = max((call[4] for call in calls(definition.body) if dotted(call[1]).rpartition(".")[2] in ENDS), default=0)
    return [leak for leak in walk.found if leak.line < last]


@dataclass(slots=True)
class _Walk:
    found: list[Leak]

    def block(self, body: tuple[Node, ...], start: int, safe: bool) -> int:
        """Walk statements; `start` is the line where the groups that stand were built, 0 for none."""
        for statement in body:
            start = self.statement(statement, start, safe)
        return start

    def statement(self, node: Node, start: int, safe: bool) -> int:
        kind, line = node[0], node[1]
        if kind == "if":
            arms = [self.block(block, start, safe) for block in node[3:5]]
            return self.joined(arms, node[3:5])
        if kind in ("for", "while"):
            return max(self.block(block, start, safe) for block in (node[4:6] if kind == "for" else node[3:5]))
        if kind == "with":
            kept = any(_ends(value) or "parallel" in dotted(value[1]) for value, _ in node[2] if value[0] == "K")
            return self.block(node[3], start, safe or kept)
        if kind == "try":
            return self.tried(node, start, safe)
        if kind in ("def", "class"):
            return start
        if start and not safe:
            self.leave(node, line, start)
        if kind in ("expr", "assign") and any(_is(call, STARTS) for call in calls(node)):
            return int(line)
        return 0 if kind == "expr" and _ends(node) else start

    def joined(self, arms: list[int], blocks: tuple[tuple[Node, ...], ...]) -> int:
        """Take the groups of the arms that go on; those that only one arm built, or left, may not be there."""
        on = [start for start, block in zip(arms, blocks, strict=True) if not block or block[-1][0] != "return"]
        return min(on, default=0)

    def tried(self, node: Node, start: int, safe: bool) -> int:
        final = node[5]
        ends = _ends(final)
        inside = self.block(node[2], start, safe or ends)
        for handler in node[3]:
            self.block(handler[2], inside, safe or ends)
        inside = self.block(node[4], inside, safe or ends)
        return 0 if ends else self.block(final, inside, safe)

    def leave(self, node: Node, line: int, start: int) -> None:
        kind = node[0]
        if kind == "return":
            self.found.append(Leak("return", line, start))
        elif kind == "assert" or (kind == "expr" and any(_asserts(call) for call in calls(node))):
            self.found.append(Leak("assert", line, start))
        elif kind in ("expr", "raise") and any(_is(call, ("skip", "skipTest", "SkipTest")) for call in calls(node)):
            self.found.append(Leak("skip", line, start))


def _is(call: Node, names: tuple[str, ...]) -> bool:
    return dotted(call[1]).rpartition(".")[2] in names


def _ends(node: object) -> bool:
    return any(_is(call, ENDS) for call in calls(node))


def _asserts(call: Node) -> bool:
    return dotted(call[1]).rpartition(".")[2].startswith("assert")


def _left(test: Test, leaks: list[Leak]) -> Verdict:
    leak, more = leaks[0], leaks[1:]
    what = "returns" if leak.how == "return" else "is skipped"
    also = f", and so it is in {plural(len(more), 'further place')}" if more else ""
    return Verdict(
        f"{test.definition.name} {what} here while its groups stand{also}: the teardown further down is not reached, "
        "and the next test of this process starts on groups that are there already.",
        Outcome.CRASH_LATE,
        span=Span(test.facts.path, leak.line),
        related=(*_related(test, leak), *(Related(Span(test.facts.path, one.line), "and here") for one in more)),
        fix=Fix("Tear down in a fixture behind its yield, in a teardown method, or in a finally."),
        subject=leak.how,
        scope=test.definition.qualname,
    )


def _asserted(found: list[tuple[Test, Leak]]) -> Verdict:
    test, leak = found[0]
    more = f", and so it is in {plural(len(found) - 1, 'further test')} of this file" if len(found) > 1 else ""
    return Verdict(
        f"Where this assertion fails, the teardown of {test.definition.name} is not reached{more}: tests that follow "
        "in this process fail too, or run on its groups.",
        Outcome.NONE,
        span=Span(test.facts.path, leak.line),
        related=_related(test, leak),
        fix=Fix("Tear down in a fixture behind its yield, in a teardown method, or in a finally."),
        severity=Severity.INFO,
        subject="assert",
    )


def _related(test: Test, leak: Leak) -> tuple[Related, ...]:
    path = test.facts.path
    ends = [call[4] for call in calls(test.definition.body) if _is(call, ENDS) and call[4] > leak.line]
    return (
        Related(Span(path, leak.start), "the groups are built here"),
        *(Related(Span(path, line), "and torn down here") for line in ends[-1:]),
    )


RULE = TeardownSkipped
