"""Facts of a file: what is read, that it survives a dump, and that hostile files are bounded."""

from __future__ import annotations

import pytest

from meshlint.protocol.facts import FileFacts, read

SOURCE = """
import torch.distributed as dist
from .near import helper as h
from far import *

LIMIT = 3

class Base:
    kind: str = "x"

    def __init__(self, group=None):
        self.group = group
        self.rank, self.size = dist.get_rank(), 2

    @property
    def first(self):
        return self.rank == 0

def outer(x, *rest, flag: bool = False, **more):
    def inner():
        return dist.all_reduce(x)
    for i in range(3):
        if i == 1:
            break
    return inner, lambda y: y
"""


def test_definitions_classes_and_imports() -> None:
    facts = read("a.py", SOURCE)
    names = [d.qualname for d in facts.definitions]
    assert names == ["<module>", "Base.__init__", "Base.first", "outer", "outer.inner", "outer.<lambda>"]
    assert facts.imports == (
        ("dist", "torch.distributed", "", 0),
        ("h", "near", "helper", 1),
        ("*", "far", "*", 0),
    )
    base = facts.classes[0]
    assert [name for name, _ in base.methods] == ["__init__", "first"]
    assert [name for name, _, _ in base.stores] == ["group", "rank", "size"]
    assert facts.definitions[3].params[2].kind == "kw"
    assert facts.definitions[4].callees == ("dist.all_reduce", "&x")


def test_facts_survive_a_dump() -> None:
    facts = read("a.py", SOURCE)
    again = FileFacts.load(facts.dump())
    assert again == facts
    assert [d.body for d in again.definitions] == [d.body for d in facts.definitions]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("def f(:\n", "line 1"),
        ("\0", "line 1"),
        ("x = " + "(" * 400 + "1" + ")" * 400, "line 1"),
        ("x = " + "-" * 3000 + "1", ""),
        ("".join(" " * d + "if x:\n" for d in range(95)) + " " * 95 + "pass\n", ""),
    ],
)
def test_hostile_files_give_a_note_and_no_traceback(text: str, note: str) -> None:
    facts = read("a.py", text)
    assert facts.note
    assert facts.note.startswith(note)


def test_a_long_function_is_read() -> None:
    body = "".join(f"    x{n} = f{n}(x{n - 1})\n" for n in range(10_000))
    facts = read("a.py", f"def long():\n{body}")
    assert len(facts.definitions[1].body) == 10_000
