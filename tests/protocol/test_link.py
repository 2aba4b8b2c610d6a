"""Names across files: imports, re-exports, star imports, aliases, classes."""

from __future__ import annotations

import random

import pytest

from meshlint.protocol.facts import read
from meshlint.protocol.link import Linker, Target

FILES = {
    "src/pkg/__init__.py": "from .core import run as start\nfrom .names import *\n",
    "src/pkg/core.py": "def run():\n    pass\n",
    "src/pkg/names.py": "import torch.distributed as dist\ncomm = dist\ndef named():\n    pass\n",
    "src/pkg/shapes.py": "class A:\n    def m(self): pass\n    def n(self): pass\nclass B(A):\n    def m(self): pass\n",
    "app.py": "import pkg\nfrom pkg import start, named\nfrom pkg.names import comm\nfrom pkg.shapes import B\n",
}


def linker() -> Linker:
    return Linker({path: read(path, text) for path, text in FILES.items()})


def found(name: str) -> Target:
    target = linker().name("app.py", name)
    assert target is not None
    return target


def test_a_re_export_is_followed() -> None:
    assert (found("start").kind, found("start").path) == ("def", "src/pkg/core.py")


def test_a_star_import_is_followed() -> None:
    assert found("named").path == "src/pkg/names.py"


def test_an_alias_of_a_library_is_followed() -> None:
    assert found("comm") == Target("library", "torch.distributed")


def test_methods_by_the_class_of_the_receiver() -> None:
    links = linker()
    target = found("B")
    key = (target.path, target.index)
    names = [links.definition(*m[:2]).qualname for m in (links.method(key, "m"), links.method(key, "n")) if m]
    assert names == ["B.m", "A.n"]
    assert links.subclasses((target.path, 0)) == [key]


def test_a_circle_of_imports_ends() -> None:
    files = {"a.py": "from b import x\n", "b.py": "from a import x\n"}
    links = Linker({path: read(path, text) for path, text in files.items()})
    assert links.name("a.py", "x") == Target("library", "a.x")
    assert links.name("b.py", "x") == Target("library", "b.x")


NAMES = "abcde"
FORMS = (
    "from {0} import *", "from {0} import *", "from {0} import f{1}", "from {0} import f{1} as f{2}", "import {0}",
    "from {0} import K{1}", "from {0} import K{1} as K{2}", "f{1} = {0}.f{2}",
)  # fmt: skip


def in_circles(chance: random.Random, name: str) -> str:
    """Write a module that imports from others which import from it, and a class on top of one of theirs."""
    others = [other for other in NAMES if other != name]
    lines = [
        chance.choice(FORMS).format(other, chance.choice(NAMES), chance.choice(NAMES))
        for other in chance.sample(others, chance.randint(1, 4))
    ]
    lines += [f"def f{chance.choice(NAMES)}(): pass" for _ in range(chance.randint(0, 2))]
    base = chance.choice(("", *(f"(K{other})" for other in others)))
    lines.append(f"class K{name}{base}:\n    def m{chance.choice(NAMES)}(self): pass")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_an_answer_does_not_hang_on_what_was_asked_before(seed: int) -> None:
    chance = random.Random(seed)
    facts = {f"{name}.py": read(f"{name}.py", in_circles(chance, name)) for name in NAMES}
    names = [(path, f"{kind}{name}") for path in facts for name in NAMES for kind in "fK"]
    classes = [(path, each.index) for path in facts for each in facts[path].classes]
    questions: list[tuple[object, ...]] = [("name", *name) for name in names]
    questions += [("mro", key) for key in classes]
    questions += [("method", key, f"m{name}") for key in classes for name in NAMES]

    def answers() -> dict[tuple[object, ...], object]:
        links = Linker(facts)
        return {question: getattr(links, str(question[0]))(*question[1:]) for question in questions}

    first = answers()
    for _ in range(3):
        chance.shuffle(questions)
        assert answers() == first


def test_a_long_chain_of_imports_is_cut_off_in_one_place() -> None:
    files = {f"m{place}.py": f"from m{place + 1} import x\n" for place in range(200)}
    facts = {path: read(path, text) for path, text in (files | {"m200.py": "def x(): pass\n"}).items()}
    down, up = Linker(facts), Linker(facts)
    paths = [f"m{place}.py" for place in range(200)]
    answers = {path: down.name(path, "x") for path in paths}
    assert {path: up.name(path, "x") for path in reversed(paths)} == answers
    assert answers["m190.py"] == Target("def", "m200.x", "m200.py", 1)
