"""Input made to hurt the code side: bounded by counts, told in the notes, and no other file loses its findings."""

from __future__ import annotations

import pytest

from meshlint.mesh import blame
from meshlint.protocol.program import Program, facts_of

HEAD = """\
import torch.distributed as dist
from megatron.core import parallel_state as mpu
TP = mpu.get_tensor_model_parallel_group()
"""

BESIDE = """\
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def gated(x):
    if mpu.get_tensor_model_parallel_rank() == 0:
        dist.all_reduce(x, group=mpu.get_tensor_model_parallel_group())
"""


def nested(count: int, statement: str, last: str) -> str:
    lines = [f"{'    ' * (i + 1)}{statement.format(i)}" for i in range(count)]
    return "\n".join([*lines, "    " * (count + 1) + last]) + "\n"


def plain(count: int) -> str:
    return "".join(f"    y{i} = x + {i}\n" for i in range(count))


def gates(count: int) -> str:
    return "".join(
        f"    if mpu.get_tensor_model_parallel_rank() == {i % 8}:\n        dist.all_reduce(x, group=TP)\n"
        for i in range(count)
    )


def deep_calls(count: int) -> str:
    ends = [*(f"f{i + 1}(x, k)" for i in range(count)), "dist.barrier()"]
    return "".join(f"def f{i}(x, k):\n{nested(25, 'if k[{}]:', end)}" for i, end in enumerate(ends))


def fan_out(count: int) -> str:
    calls = "    f{1}(x, a + 1)\n    f{1}(x, a + 2)\n    f{1}(x, a * 3)\n"
    made = [("def f{0}(x, a=0):\n" + calls).format(i, i + 1) for i in range(count)]
    return "".join(made) + f"def f{count}(x, a=0):\n    dist.barrier()\n"


def everybody_calls_everybody(count: int) -> str:
    calls = ["".join(f"    f{j}(x, {i * count + j})\n" for j in range(count)) for i in range(count)]
    return "".join(f"def f{i}(x, a=None):\n    dist.barrier()\n{body}" for i, body in enumerate(calls))


def chain_of_classes(count: int) -> str:
    bases = ["object", *(f"C{i}" for i in range(count - 1))]
    body = "    def run(self):\n        self.step{0}()\n\n    def step{0}(self):\n        dist.barrier()\n"
    return "".join(f"class C{i}({base}):\n{body.format(i)}" for i, base in enumerate(bases))


SILENT = {
    "ten thousand lines": "def f(x):\n    dist.all_reduce(x)\n" + plain(10_000),
    "loops in loops": "def f(x, k):\n" + nested(19, "for a{0} in k[{0}]:", "dist.all_reduce(x)"),
    "a circle of calls": (
        "def f(x):\n    if x:\n        f(x - 1)\n    g(x)\n"
        "def g(x):\n    f(x)\n    h(x)\ndef h(x):\n    g(x)\n    h(x)\n"
    ),
    "a chain of classes": chain_of_classes(200),
    "names below a name": "def f(x, d):\n    dist.barrier()\n" + "".join(f"    d.a{i} = x\n" for i in range(1500)),
}

TOLD = {
    "no Python": ("def f(:\n", "invalid syntax"),
    "nested too deeply": ("def f(x, k):\n" + nested(90, "if k[{}]:", "dist.all_reduce(x)"), "too deeply"),
    "a long chain": ("def f(x):\n    dist.all_reduce(x)\n    return x" + ".a()" * 3000 + "\n", "too deeply"),
    "thousands of gates": ("def f(x):\n" + gates(2000), "too many branches"),
    "deep functions that call deep functions": (deep_calls(16), "calls too much"),
    "calls that multiply": (fan_out(14), "too many"),
    "everybody calls everybody": (everybody_calls_everybody(24), "too m"),
}


def judged(text: str) -> Program:
    return Program(("bad.py", "beside.py"), facts_of([("bad.py", text), ("beside.py", BESIDE)]))


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_what_can_be_followed_is(text: str) -> None:
    program = judged(HEAD + text)
    assert [(fault.code, fault.span.path) for fault in program.faults()] == [("COL001", "beside.py")]
    assert program.notes == ()


@pytest.mark.parametrize(("text", "note"), TOLD.values(), ids=TOLD.keys())
def test_what_goes_too_far_is_told(text: str, note: str) -> None:
    program = judged(HEAD + text)
    assert [(fault.code, fault.span.path) for fault in program.faults()] == [("COL001", "beside.py")]
    assert any(note in told and told.startswith("bad.py") for told in program.notes)


def test_parts_in_parts_are_bounded_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    way = "    if args.way{0}:\n        dist.barrier()\n        if dist.get_rank() == {0}:\n            return x\n"
    steps = "".join(way.format(i) for i in range(6))
    text = f"import torch.distributed as dist\n\ndef work(x, args):\n{steps}    dist.all_reduce(x)\n"
    text += "\n\ndef outer(x, args):\n    work(x, args)\n    dist.broadcast(x, 0)\n"
    whole = Program(("a.py",), facts_of([("a.py", text)]))
    assert whole.faults() and not whole.notes
    monkeypatch.setattr(blame, "COPIES", 20)
    part = Program(("a.py",), facts_of([("a.py", text)]))
    part.faults()
    assert any("`outer` leaves in too many places" in note for note in part.notes)
