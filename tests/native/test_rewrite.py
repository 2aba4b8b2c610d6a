"""The source of modules as it is compiled: it means the same, on the same lines."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from meshlint.records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]

BASE = '''"""A module."""

from __future__ import annotations

from meshlint.records import dataclass

LIMIT = 7
NAMES: frozenset[str] = frozenset(("a", "b"))
PAIR = ("a", "b")


@dataclass(slots=True)
class Base:
    """A base."""

    first: int
    most: int = LIMIT
    ready: bool = False

    def __post_init__(self) -> None:
        self.ready = True
'''
MODULE = '''"""Another."""

from __future__ import annotations

from dataclasses import field

from base import Base
from meshlint.records import dataclass


@dataclass(slots=True)
class Below(Base):
    """Inherits fields, and what is done with them."""

    many: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Has a field that nobody gives."""

    text: str
    count: int = field(default=3, init=False)


def kind(one: object, two: object) -> str:
    """Asks twice on one line."""
    if isinstance(one, int | None) and one is two:
        return "none"
    return "both" if isinstance(one, int | str) and isinstance(two, Below | Fixed) else "no"
'''


@pytest.fixture(scope="module")
def rewrite() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rewrite", ROOT / "native" / "rewrite.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["rewrite"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def run(monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, text in texts.items():
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, name, "exec"), module.__dict__)
        names |= module.__dict__
    return names


def test_a_module_means_the_same_when_written_for_the_compiler(
    rewrite: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"base": BASE, "module": MODULE}
    written = rewrite.written_out(plain)
    answers = []
    for texts in (plain, written):
        names = run(monkeypatch, texts)
        below, fixed = names["Below"], names["Fixed"]
        shared = below(1).many is below(1).many
        answers.append((repr(below(1)), repr(below(1, many=[4])), repr(fixed("x")), shared, fixed("x") == fixed("x")))
        answers[-1] += (
            names["kind"](1, below(1)),
            names["kind"](1, 2),
            names["kind"](None, None),
            names["LIMIT"],
            sorted(names["NAMES"]),
        )
    assert answers[0] == answers[1]
    assert "def __init__(self, first: int, most: int = LIMIT, ready: bool = False, many: list[int]" in written["module"]
    assert "from base import LIMIT" in written["module"]
    assert "isinstance(one, (int, str)) and isinstance(two, (Below, Fixed))" in written["module"]
    assert "LIMIT: Final = 7" in written["base"] and 'PAIR = ("a", "b")' in written["base"]


def test_what_is_added_moves_no_line(rewrite: ModuleType) -> None:
    written = rewrite.written_out({"base": BASE, "module": MODULE})["module"].split("\n")
    for number, line in enumerate(MODULE.split("\n")):
        if line.startswith(("class ", "def ", "@")):
            assert written[number] == line


def test_a_factory_beside_none_is_refused(rewrite: ModuleType) -> None:
    text = MODULE.replace("many: list[int]", "many: list[int] | None")
    with pytest.raises(ValueError, match=r"Below\.many"):
        rewrite.written_out({"base": BASE, "module": text})


def test_each_module_to_compile_can_be_written(rewrite: ModuleType) -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = tables["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["modules"]
    assert names == sorted(names)
    texts = {name: (ROOT / "analyzer" / f"{name.replace('.', '/')}.py").read_text("utf-8") for name in names}
    for name, text in rewrite.written_out(texts).items():
        compile(text, name, "exec")
        assert len(text.split("\n")) - len(texts[name].split("\n")) <= 1


def test_a_record_may_write_its_own_init() -> None:
    @dataclass(frozen=True, slots=True)
    class Own:
        one: int

        def __init__(self, text: str) -> None:
            self.one = len(text)  # type: ignore[misc]

    assert Own("abc") == Own("xyz") != Own("x")
