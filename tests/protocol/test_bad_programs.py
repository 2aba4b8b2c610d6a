"""Programs that nobody should write: bounded work, what was not followed is told, and the other files' faults stand."""

from __future__ import annotations

import pytest

from meshlint.protocol.program import Program, facts_of

HEAD = "import torch.distributed as dist\nfrom megatron.core import parallel_state as mpu\n\n\n"
RANK = "mpu.get_tensor_model_parallel_rank()"
SANE = f"{HEAD}def sane(x):\n    if {RANK} == 0:\n        dist.barrier()\n"


def _long() -> str:
    lines = (f"    a{i} = x + {i}\n    dist.all_reduce(a{i})\n" for i in range(1_500))
    return f"{HEAD}def long(x):\n" + "".join(lines)


def _branches() -> str:
    lines = (f"    if args.f{i}:\n        x = dist.all_reduce(x)\n" for i in range(2_000))
    return f"{HEAD}def many(x, args):\n" + "".join(lines)


def _gates() -> str:
    lines = (f"    if {RANK} == {i}:\n        dist.barrier()\n" for i in range(1_000))
    return f"{HEAD}def gates(x):\n" + "".join(lines)


def _deep() -> str:
    lines = ("    " * (i + 1) + f"if x.a{i}:\n" for i in range(90))
    return f"{HEAD}def deep(x):\n" + "".join(lines) + "    " * 91 + "dist.barrier()\n"


def _recursion() -> str:
    form = "def f{0}(x):\n    if x:\n        f{1}(x)\n    f{2}(x)\n    dist.all_reduce(x)\n\n\n"
    return HEAD + "".join(form.format(i, (i + 1) % 60, (i * 7 + 3) % 60) for i in range(60))


def _chain() -> str:
    lines = (f"def f{i}(x):\n    return f{i + 1}(x)\n\n\n" for i in range(4_000))
    return HEAD + "".join(lines) + "def f4000(x):\n    dist.all_reduce(x)\n"


def _classes() -> str:
    form = "class C{0}{1}:\n    def run(self, x):\n        dist.all_reduce(x)\n        self.step(x)\n\n"
    form += "    def step(self, x):\n        pass\n\n\n"
    return HEAD + "".join(form.format(i, f"(C{i - 1})" if i else "") for i in range(300))


def _tower() -> str:
    """Calls from below: what each function comes to is known before its caller is looked at."""
    lines = (f"def f{i}(x):\n    f{i - 1}(x)\n\n\n" for i in range(1, 300))
    return f"{HEAD}def f0(x):\n    dist.barrier()\n\n\n" + "".join(lines)


def _groups() -> str:
    lines = (f"    g{i} = dist.new_group([{i}, {i + 1}])\n    dist.barrier(group=g{i})\n" for i in range(300))
    return f"{HEAD}def many(x):\n" + "".join(lines)


def _names() -> str:
    """Names given to names of names: `lazily` each asks for the next."""
    lines = (f"        v{i + 1} = v{i}\n" for i in range(1_000))
    run = "    def run(self):\n        if self.p:\n            dist.barrier()\n"
    return f"{HEAD}class C:\n    def __init__(self):\n        v0 = 1\n{''.join(lines)}        self.p = v1000\n\n{run}"


def _numbers() -> str:
    gate = f"    if a == {RANK}:\n        dist.barrier()\n"
    return f"{HEAD}def f(x):\n    a = 10\n" + "    a = a * a\n" * 40 + gate


def _sums() -> str:
    """One value in many places of one value: as a tree it would have a million million nodes."""
    return (
        f"{HEAD}def f(x, n):\n    a = n + {RANK}\n" + "    a = a + a\n" * 40 + "    if a > 3:\n        dist.barrier()\n"
    )


def _partials() -> str:
    head = f"import functools\n{HEAD}def f(*a):\n    dist.barrier()\n\n\ndef g(x):\n    p = f\n"
    return head + "    p = functools.partial(f, p, p, p)\n" * 60 + "    p()\n"


def _partly() -> str:
    return f"{HEAD}x = " + "partial(" * 40 + "a.b" + ").c" * 39 + ")\n"


PROGRAMS = {
    "a long function": _long,
    "branches": _branches,
    "gates": _gates,
    "nesting": _deep,
    "recursion": _recursion,
    "a chain of calls": _chain,
    "a tall hierarchy": _classes,
    "a tower of calls": _tower,
    "groups": _groups,
    "names of names": _names,
    "numbers": _numbers,
    "sums": _sums,
    "partials of partials": _partials,
    "partials in partials": _partly,
}
TOLD = {
    "a tower of calls": "calls too deep down to be followed to the end",
    "groups": "acts on too many groups to be followed",
    "names of names": "calls too much to be followed",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_faults_of_other_files_stand_beside(name: str) -> None:
    texts = (("bad.py", PROGRAMS[name]()), ("sane.py", SANE))
    program = Program(("bad.py", "sane.py"), facts_of(texts))
    assert [fault.code for fault in program.faults() if fault.span.path == "sane.py"] == ["COL001"]
    assert any(TOLD.get(name, "") in note for note in ("", *program.notes))


def test_imports_in_circles_end() -> None:
    texts = [("sane.py", SANE)]
    for i in range(80):
        following, other = (i + 1) % 80, (i + 17) % 80
        imports = f"from m{following} import *\nfrom m{other} import g{other}, missing{i}\n"
        body = f"def g{i}(x):\n    g{other}(x)\n    missing{i}(x)\n    dist.all_reduce(x)\n"
        texts.append((f"m{i}.py", imports + HEAD + body))
    program = Program(tuple(path for path, _ in texts), facts_of(texts))
    assert [(fault.code, fault.span.path) for fault in program.faults()] == [("COL001", "sane.py")]


def test_what_is_nested_too_deeply_is_told() -> None:
    program = Program(("bad.py",), facts_of([("bad.py", _deep())]))
    assert any("nested too deeply" in note for note in program.notes)
