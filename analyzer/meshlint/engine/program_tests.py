"""Which files of tests belong to the program: those that its files import, directly or through other such files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from meshlint.protocol.link import module_parts
from meshlint.protocol.pytests import names_tests
from meshlint.records import dataclass


@dataclass(slots=True)
class Tests:
    """The files of tests in scope, as modules that others may import."""

    tests: frozenset[str]
    others: tuple[str, ...]
    _endings: dict[str, list[str]] = field(default_factory=dict)
    _found: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def imported(self, path: str, modules: Iterable[str]) -> Iterator[str]:
        """Give the files of tests that a file may mean by the modules that it imports (see `Head.tests`)."""
        for module in modules:
            name = module.lstrip(".")
            level = len(module) - len(name)
            yield from self._beside(path, name, level) if level else self._absolute(path, name)

    def _beside(self, path: str, name: str, level: int) -> Iterator[str]:
        folder = path.split("/")[:-1]
        if level - 1 > len(folder):
            return
        stem = "/".join([*folder[: len(folder) - level + 1], *(name.split(".") if name else ())])
        yield from (file for file in (f"{stem}.py", f"{stem}/__init__.py") if file in self.tests)

    def _absolute(self, path: str, name: str) -> Iterator[str]:
        if "." in name or names_tests(name):
            yield from self._known(name)
        else:  # a neighbour, as where tests are run in their folder
            yield from self._beside(path, name, 1)

    def _known(self, name: str) -> tuple[str, ...]:
        """Give the files that end in a dotted name, where no file of the program does."""
        known = self._found.get(name)
        if known is None:
            found = self._index().get(name, [])
            end = name.replace(".", "/")
            ends = (f"/{end}.py", f"/{end}/__init__.py")
            taken = bool(found) and any(f"/{other}".endswith(ends) for other in self.others)
            known = self._found[name] = () if taken else tuple(found)
        return known

    def _index(self) -> dict[str, list[str]]:
        if not self._endings:
            for path in sorted(self.tests):
                parts = module_parts(path)
                for start in range(len(parts)):
                    self._endings.setdefault(".".join(parts[start:]), []).append(path)
        return self._endings
