"""Names across files: imports, re-exports, star imports, aliases, classes."""

from __future__ import annotations

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
    assert links.name("a.py", "x") is None or links.name("a.py", "x") is not None
