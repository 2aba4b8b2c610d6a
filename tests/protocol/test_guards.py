"""Under which conditions calls are made, what a function refuses, and code that is written again."""

from __future__ import annotations

import pytest

from meshlint.protocol.checks import checks
from meshlint.protocol.facts import dotted, read
from meshlint.protocol.guards import cleared_names, guarded_calls, last_alike, spell, written


def body(text: str) -> tuple[tuple[object, ...], ...]:
    rows = "\n".join(f"    {row}" for row in text.split("\n"))
    return read("f.py", f"def f(a, b, c, group=None):\n{rows}\n").definitions[1].body


def guards(text: str, callee: str = "dist.barrier") -> list[list[str]]:
    """Give the conditions of each call of a function."""
    found = guarded_calls(body(text))
    return [[c.text for c in one.conditions] for one in found if dotted(one.call[1]) == callee]


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("dist.barrier()", [[]]),
        ("if a and not b:\n    dist.barrier()", [["a", "not b"]]),
        ("if a or b:\n    dist.barrier()", [["a or b"]]),
        ("if a or b:\n    pass\nelse:\n    dist.barrier()", [["not a", "not b"]]),
        ("if a is None:\n    return\ndist.barrier()", [["a is not None"]]),
        ("if a is None:\n    raise ValueError\ndist.barrier()", [[]]),
        ("a and dist.barrier()", [["a"]]),
        ("x = dist.barrier() if a > 1 else None", [["a > 1"]]),
        ("for x in a:\n    if not x:\n        continue\n    dist.barrier()", [["x"]]),
        ("with a:\n    try:\n        dist.barrier()\n    finally:\n        dist.barrier()", [[], []]),
        ("if a:\n    if b:\n        return\n    else:\n        return\ndist.barrier()", [["not a"]]),
        ("f(B=a and dist.barrier(), N=1, I=2)", [["a"]]),
    ],
)
def test_conditions_of_a_call(text: str, conditions: list[list[str]]) -> None:
    assert guards(text) == conditions


@pytest.mark.parametrize(
    "text",
    [
        "a.b[0](c, d=e, **f)",
        "x == 1",
        "a and (b or c)",
        "-a % (b * 2)",
        "not a",
        "[a, 'b']",
        "(1, None)",
        "a is not None",
    ],
)
def test_code_is_written_again(text: str) -> None:
    statement = body(text)[0]
    assert spell(statement[-1]) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("assert a % b == 0, 'x'", [("a % b == 0", True)]),
        ("assert a and b", [("a", True), ("b", True)]),
        ("assert a == 1 or b", [("a == 1 or b", True)]),
        ("if a % b:\n    raise ValueError", [("not a % b", True)]),
        ("if a > 1 and b:\n    msg = 'x'\n    raise ValueError(msg)", [("a <= 1 or not b", True)]),
        ("if a:\n    warnings.warn('x')", [("not a", False)]),
        ("if a:\n    f(b)", []),
        ("if a:\n    c = f(b)\n    d = c\n    e = d\n    raise ValueError(e)", []),
    ],
)
def test_what_is_refused(text: str, said: list[tuple[str, bool]]) -> None:
    assert [(check.text, check.firm) for check in checks(body(text))] == said


def test_a_row_of_calls_and_what_they_need() -> None:
    code = body("if a:\n    b = None\n    c = None\n    send(a)\n    send(a)\n    take(a)\nx = send(b)")
    end = last_alike(code, 5)
    assert end is not None
    assert end[4] == 6
    assert written(code, 8) == "x = send(b)"
    assert cleared_names(code, 6, ["x = send(b)"]) == ["b"]
    assert written(code, 2) == ""
