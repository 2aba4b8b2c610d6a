"""Tests in a file, by the habits of pytest and unittest: what is run before and behind each, and what may skip it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meshlint.protocol.facts import ClassFacts, Definition, FileFacts, Node, calls, dotted
from meshlint.records import dataclass

BEFORE = ("setup_method", "setup_class", "setup_module", "setup", "setUp", "setUpClass", "setup_function")
BEHIND = ("teardown_method", "teardown_class", "teardown_module", "teardown", "tearDown", "tearDownClass",
          "teardown_function")  # fmt: skip
FOLDERS = ("tests", "test", "unit_tests", "testing")
"""Folders that hold tests, at any depth."""
STEPS = 2
"""Calls within a file that are followed from a test to what it does."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test function, its class if it has one, and the fixtures that it uses, with the facts of their files."""

    facts: FileFacts
    definition: Definition
    klass: ClassFacts | None
    fixtures: tuple[tuple[FileFacts, Definition], ...]

    def around(self, names: tuple[str, ...]) -> Iterator[Definition]:
        """Give the methods of its class, or functions of its module, of some names."""
        methods = dict(self.klass.methods) if self.klass is not None else {}
        for name in names:
            if name in methods:
                yield self.facts.definitions[methods[name]]
        yield from (d for d in self.facts.definitions if d.owner < 0 and d.parent == 0 and d.name in names)


def is_test(path: str) -> bool:
    """Say whether a file holds tests: it is not judged by itself."""
    parts = path.split("/")
    return any(p in FOLDERS for p in parts[:-1]) or parts[-1].startswith("test_")


def names_tests(module: str) -> bool:
    """Say whether a dotted name may be that of a file which holds tests."""
    return "test" in module and any(part in FOLDERS or part.startswith("test_") for part in module.split("."))


def is_test_file(path: str) -> bool:
    """Say whether pytest collects a file by its name."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def tests_of(facts: FileFacts, program: Mapping[str, FileFacts]) -> Iterator[Test]:
    """Give the tests of a file; fixtures are looked for in it and in the `conftest.py` files around it."""
    homes = [facts, *_conftests(facts.path, program)]
    for definition in facts.definitions:
        if not definition.name.startswith("test") or definition.parent != 0:
            continue
        klass = facts.classes[definition.owner] if definition.owner >= 0 else None
        if klass is not None and not (
            klass.name.startswith("Test") or klass.name.endswith(("Test", "Tests", "TestCase"))
        ):
            continue
        wanted = {param.name for param in definition.params} | set(_used(definition, klass))
        fixtures = tuple(_fixtures(homes, wanted, klass))
        yield Test(facts, definition, klass, fixtures)


def _conftests(path: str, program: Mapping[str, FileFacts]) -> Iterator[FileFacts]:
    folder = path.rpartition("/")[0]
    while True:
        there = f"{folder}/conftest.py" if folder else "conftest.py"
        if there in program:
            yield program[there]
        if not folder:
            return
        folder = folder.rpartition("/")[0]


def _used(definition: Definition, klass: ClassFacts | None) -> Iterator[str]:
    """Give the fixtures that `usefixtures` names."""
    for decorator in (*definition.decorators, *(klass.decorators if klass is not None else ())):
        if decorator[0] == "K" and dotted(decorator[1]).endswith("usefixtures"):
            yield from (value[1] for value in decorator[2] if value[0] == "C" and isinstance(value[1], str))


def _fixtures(
    homes: list[FileFacts], wanted: set[str], klass: ClassFacts | None
) -> Iterator[tuple[FileFacts, Definition]]:
    for home in homes:
        for definition in home.definitions:
            decorator = _fixture(definition)
            if decorator is None or (definition.owner >= 0 and (home is not homes[0] or klass is None)):
                continue
            if definition.owner >= 0 and klass is not None and definition.owner != klass.index:
                continue
            if definition.name in wanted or _keyword(decorator, "autouse") == ("C", True):
                yield home, definition


def _fixture(definition: Definition) -> Node | None:
    for decorator in definition.decorators:
        callee = decorator[1] if decorator[0] == "K" else decorator
        if dotted(callee).rpartition(".")[2] in ("fixture", "yield_fixture"):
            return decorator
    return None


def fixture_scope(definition: Definition) -> str:
    """Give the scope of a fixture: `function` where it says none."""
    decorator = _fixture(definition)
    scope = _keyword(decorator, "scope") if decorator is not None else None
    return str(scope[1]) if scope is not None and scope[0] == "C" else "function"


def _keyword(call: Node, name: str) -> Node | None:
    return next((value for key, value in call[3] if key == name), None) if call[0] == "K" else None


def reached(facts: FileFacts, start: Definition) -> Iterator[tuple[Definition, Node]]:
    """Give every call that a function of a file makes itself, or through others of the same file."""
    by_name = {d.name: d for d in facts.definitions if d.parent == 0 and d.name != "<lambda>"}
    seen = {start.index}
    frontier = [start]
    for step in range(STEPS + 1):
        following: list[Definition] = []
        for definition in frontier:
            for call in calls(definition.body):
                yield definition, call
                owner, _, name = dotted(call[1]).rpartition(".")
                callee = by_name.get(name) if owner in ("", "self", "cls") else None
                if callee is not None and callee.index not in seen and step < STEPS:
                    seen.add(callee.index)
                    following.append(callee)
        frontier = following
