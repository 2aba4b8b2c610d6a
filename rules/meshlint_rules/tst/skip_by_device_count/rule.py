"""TST001: a distributed test that skips by the number of devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.protocol.facts import Definition, Node, calls, dotted
from meshlint.protocol.guards import words
from meshlint.protocol.pytests import BEFORE, Test, is_test_file, reached, tests_of
from meshlint.rule import Fix, Outcome, ProgramRule, Reference, Related, Severity, Span, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.facts import FileFacts
    from meshlint.protocol.program import Program

STARTS = frozenset(("initialize_model_parallel", "init_process_group", "initialize_distributed", "init_distributed"))
SPAWNS = frozenset(
    (
        "spawn", "start_processes", "Process", "Popen", "run", "check_call", "check_output", "call", "system",
        "torchrun", "elastic_launch", "launch_agent", "remote", "mp_run", "set_world_size", "execute_subprocess_async",
    )
)  # fmt: skip
"""Names of calls that may start ranks: then the devices of this machine are what counts."""


class SkipByDeviceCount(ProgramRule):
    """A distributed test skips by the devices that it sees, although it takes its ranks from the launcher.

    ## What it does

    Finds tests that are skipped where `torch.cuda.device_count()` is below some number above 1, that build process
    groups out of the ranks that a launcher started, and that never ask how many those are. A test that starts its
    ranks itself (`mp.spawn`, a `torchrun` in a subprocess) needs devices, and is right.

    ## Why this is bad

    Started by a plain `pytest` on a machine with enough devices, the test is not skipped: its world is one rank, and
    it fails when the groups are built, or passes without having shown anything. With two nodes of four devices,
    `device_count() < 8` skips it though there are eight ranks.

    ## Example

    ```python
    @pytest.mark.skipif(torch.cuda.device_count() < 4, reason="needs 4 GPUs")
    def test_stages():
        Utils.initialize_model_parallel(2, 2)
    ```

    ## Use instead

    ```python
    @pytest.mark.skipif(int(os.environ.get("WORLD_SIZE", "1")) < 4, reason="needs 4 ranks")
    def test_stages():
        Utils.initialize_model_parallel(2, 2)
    ```

    ## References/versions

    Every version so far; pytest's and unittest's skips are known.
    """

    code = "TST001"
    slug = "skip-by-device-count"
    severity = Severity.WARNING
    outcomes = (Outcome.CRASH_START,)
    preview = True
    tests = True
    references = (
        Reference("megatron/core/parallel_state.py at core_v0.16.1: the world must divide by tp * pp * cp"),
        Reference("tests/unit_tests/test_utilities.py at core_v0.16.1 (Megatron-LM): the world is WORLD_SIZE, else 1"),
    )

    def check(self, program: Program) -> Iterator[Verdict]:
        """Look at the test files that count devices."""
        for path in program.files:
            if not is_test_file(path) or path not in program.read:
                continue
            facts = program.read[path]
            if any(_counts_somewhere(definition) for definition in facts.definitions) or _decorated(facts):
                yield from _file(facts, program)


def _counts_somewhere(definition: Definition) -> bool:
    return definition.mentions("device_count")


def _decorated(facts: FileFacts) -> bool:
    nodes = [*(d.decorators for d in facts.definitions), *(c.decorators for c in facts.classes)]
    return any("device_count" in words_of for node in nodes for words_of in [set(words(node))])


def _file(facts: FileFacts, program: Program) -> Iterator[Verdict]:
    told: set[int] = set()
    for test in tests_of(facts, program.read):
        skip = _skip(test)
        if skip is None or skip[0] in told:
            continue
        start = _start(test)
        if start is None or _knows_ranks(test):
            continue
        told.add(skip[0])
        yield _verdict(test, skip, start)


Skip = tuple[int, int]
"""The line of a condition for a skip, and the number of devices that it asks for."""


def _skip(test: Test) -> Skip | None:
    """Give the skip of a test that counts devices."""
    for condition, line in _conditions(test):
        for node in _comparisons(condition):
            need = _devices(node, test.facts)
            if need > 1:
                return line, need
    return None


def _conditions(test: Test) -> Iterator[tuple[Node, int]]:
    """Give the conditions under which a test is skipped, each with its line."""
    marks = [*test.definition.decorators, *(test.klass.decorators if test.klass is not None else ())]
    marks += [value for name, value in test.facts.assigns if name == "pytestmark"]
    marks += [
        value for name, value in (test.klass.attributes if test.klass is not None else ()) if name == "pytestmark"
    ]
    for mark in marks:
        for call in calls(mark):
            if dotted(call[1]).rpartition(".")[2] in ("skipif", "skipIf", "skipUnless") and call[2]:
                yield call[2][0], call[4]
    for definition in (test.definition, *test.around(BEFORE), *(d for _, d in test.fixtures)):
        yield from _in_body(definition.body)


def _in_body(body: tuple[Node, ...]) -> Iterator[tuple[Node, int]]:
    for statement in body:
        if statement[0] == "if" and statement[3] and _is_skip(statement[3]):
            yield statement[2], statement[1]


def _is_skip(block: tuple[Node, ...]) -> bool:
    last = block[-1]
    if last[0] == "return":
        return True
    return last[0] in ("expr", "raise") and any(
        dotted(call[1]).rpartition(".")[2] in ("skip", "skipTest", "SkipTest") for call in calls(last)
    )


def _comparisons(node: Node) -> Iterator[Node]:
    if node[0] == "Q" and len(node) == 4:
        yield node
    elif node[0] == "B":
        for operand in node[2]:
            yield from _comparisons(operand)
    elif node[0] in ("U", "I"):
        yield from _comparisons(node[2])


def _devices(node: Node, facts: FileFacts) -> int:
    """Give how many devices a comparison asks for; 0 where it is about something else."""
    operators, left, comparators = node[1:]
    if len(operators) != 1 or not _is_count(left, facts):
        return 0
    bound = comparators[0]
    if bound[0] != "C" or not isinstance(bound[1], int):
        return 0
    return bound[1] + (operators[0] in ("<=", ">"))


def _is_count(node: Node, facts: FileFacts) -> bool:
    if node[0] == "N":
        node = next((value for name, value in facts.assigns if name == node[1]), node)
    return node[0] == "K" and dotted(node[1]).endswith("cuda.device_count")


def _start(test: Test) -> tuple[Definition, Node] | None:
    """Give the call that builds groups out of the ranks of the launcher; None where the test may start ranks itself."""
    starts = [test.definition, *test.around(BEFORE), *(d for facts, d in test.fixtures if facts is test.facts)]
    found = None
    for definition in starts:
        for holder, call in reached(test.facts, definition):
            name = dotted(call[1]).rpartition(".")[2]
            if name in SPAWNS or any(_handed_over(value) for value in call[2]):
                return None
            if name in STARTS and not _of_one_rank(call):
                found = found or (holder, call)
    return found


def _handed_over(value: Node) -> bool:
    """Say whether a function that sounds like a worker is handed on: ranks are started with it."""
    return value[0] == "N" and ("worker" in value[1] or value[1].startswith(("_test", "run_", "_run")))


def _of_one_rank(call: Node) -> bool:
    return any(key == "world_size" and value == ("C", 1) for key, value in call[3])


def _knows_ranks(test: Test) -> bool:
    """Say whether the test asks anywhere how many ranks there are, or sets it."""
    around = [test.definition, *test.around(BEFORE), *(d for _, d in test.fixtures)]
    asked = {word for condition, _ in _conditions(test) for word in words(condition)}
    for definition in around:
        asked |= {word for part in definition.body for word in words(part)} if _may_know(definition) else set()
    module = {word for name, value in test.facts.assigns for word in (name, *words(value))}
    return any("WORLD_SIZE" in word for word in asked | module) or any(
        "world_size" in word for condition, _ in _conditions(test) for word in words(condition)
    )


def _may_know(definition: Definition) -> bool:
    return definition.mentions("WORLD_SIZE")


def _verdict(test: Test, skip: Skip, start: tuple[Definition, Node]) -> Verdict:
    line, need = skip
    holder, call = start
    path, name = test.facts.path, dotted(call[1])
    return Verdict(
        f"{test.definition.name} is skipped where fewer than {need} devices are seen, but {name}() takes its ranks "
        f"from the launcher: a plain pytest on a machine with {need} devices does not skip it and runs it with one "
        "rank, where it fails or shows nothing.",
        Outcome.CRASH_START,
        span=Span(path, line),
        related=(
            Related(Span(path, call[4], call[5], call[6], call[7]), f"the groups are built here, in {holder.name}"),
        ),
        fix=Fix(f'Skip where int(os.environ.get("WORLD_SIZE", "1")) is below {need}.'),
        scope=test.definition.qualname,
    )


RULE = SkipByDeviceCount
