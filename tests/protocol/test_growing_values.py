"""Values that double, and lists without end: bounded work, and the other files' faults stand."""

from __future__ import annotations

import pytest

from meshlint.protocol.facts import MAX_TEXT
from meshlint.protocol.program import Program, facts_of

HEAD = "from functools import partial\n\nimport torch.distributed as dist\n\n\n"
SANE = f"{HEAD}def sane(x):\n    if dist.get_rank() == 0:\n        dist.barrier()\n"
LAST = "    if t == dist.get_rank():\n        dist.all_reduce(x)\n"


def _doubled(first: str, again: str, times: int = 60) -> str:
    return f"{HEAD}def f(x):\n    t = {first}\n" + f"    t = {again}\n" * times + LAST


def _through_calls(count: int = 60) -> str:
    calls = "".join(f"def f{i}(x):\n    return f{i + 1}((x, x))\n" for i in range(count))
    return f"{HEAD}{calls}def f{count}(t):\n    x = t\n{LAST}\n\nf0(dist.get_rank())\n"


def _through_partials(count: int = 60) -> str:
    return f"{HEAD}def t(*x):\n    dist.barrier()\n\n\nt = partial(t, 1, 2)\n" + "t = partial(t, t)\n" * count + "t()\n"


def _gates_that_leave(count: int = 600) -> str:
    lines = (f"    if dist.get_rank() == {i}:\n        dist.all_reduce(x)\n        return\n" for i in range(count))
    return f"{HEAD}def f(x):\n" + "".join(lines)


def _gates_of_parameters(count: int = 3000) -> str:
    given = ", ".join(f"a{i}=None" for i in range(count))
    gates = "".join(f"    if a{i} is not None:\n        dist.all_reduce(a{i})\n" for i in range(count))
    return f"{HEAD}def f({given}):\n{gates}"


PROGRAMS = {
    "a tuple of itself": _doubled("(0,)", "(t, t)"),
    "a list and itself": _doubled("[0]", "t + t"),
    "a dict of itself": _doubled("{}", "{'a': t, 'b': t}"),
    "a list of itself": _doubled("[x]", "[t, t, t, t]"),
    "calls with two of it": _through_calls(),
    "partials of itself": _through_partials(),
    "a long conjunction": f"{HEAD}def f(x):\n    t = {' and '.join(f'x[{i}]' for i in range(2_000))}\n{LAST}",
    "a long list": f"{HEAD}def f(x):\n    t = dist.get_rank() in [{', '.join(map(str, range(2_000)))}]\n{LAST}",
    "a long file": f"{HEAD}def f(x):\n" + "    x\n" * (MAX_TEXT // 6),
    "gates that leave": _gates_that_leave(),
    "a gate for each of many parameters": _gates_of_parameters(),
    "a long list of numbers": f"{HEAD}x = [{'1,' * 500_000}]\n",
    "names that no text can hold": f"{HEAD}def f(x, g):\n    t = dist.get_rank(getattr(g, '\\ud800'))\n{LAST}",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_grows_is_bounded_and_costs_no_other_file_its_faults(text: str) -> None:
    program = Program(("big.py", "sane.py"), facts_of({"big.py": text, "sane.py": SANE}.items()))
    assert [(f.code, f.span.line) for f in program.faults() if f.span.path == "sane.py"] == [("COL001", 8)]


def test_a_long_file_is_told() -> None:
    program = Program(("big.py",), facts_of({"big.py": PROGRAMS["a long file"]}.items()))
    assert program.faults() == ()
    assert "at most 1,048,576 are followed" in "\n".join(program.notes)


@pytest.mark.parametrize(
    ("name", "note"),
    [("a long list of numbers", "words and signs"), ("a gate for each of many parameters", "calls too much")],
)
def test_what_is_too_much_is_told(name: str, note: str) -> None:
    program = Program(("big.py",), facts_of({"big.py": PROGRAMS[name]}.items()))
    assert [fault.code for fault in program.faults()] == []
    assert note in "\n".join(program.notes)


@pytest.mark.parametrize("ranks", ["[0] + [1, 2]", "[0, *[1, 2]]", "[0, 1, 2]"])
def test_lists_of_ranks_that_are_put_together_are_the_whole_list(ranks: str) -> None:
    body = f"def f(x):\n    g = dist.new_group({ranks})\n    if dist.get_rank() == 0:\n"
    body += "        dist.all_reduce(x, group=g)\n"
    program = Program(("a.py",), facts_of({"a.py": HEAD + body}.items()))
    assert [(f.code, f.span.line) for f in program.faults()] == [("COL001", 9)]


@pytest.mark.parametrize("ranks", ["[0] + [1, 2]", "[0, *[1, 2]]", "[0, 1, 2]"])
def test_all_of_the_ranks_of_a_list_that_was_put_together_agree(ranks: str) -> None:
    body = f"def f(x):\n    ranks = {ranks}\n    g = dist.new_group(ranks)\n    if dist.get_rank() in ranks:\n"
    body += "        dist.all_reduce(x, group=g)\n"
    assert Program(("a.py",), facts_of({"a.py": HEAD + body}.items())).faults() == ()
