"""A statement that binds a name to a constant for which nobody asks says nothing, wherever in a function it stands."""

from __future__ import annotations

import pytest

from meshlint.protocol.facts import read

FUNCTION = """\
def f(x, k=1):
    if x:
        g(x)
    else:
        g(2)
    try:
        g(1)
    except ValueError:
        g(3)
    finally:
        g(4)
    for a in x:
        g(a)
    while x:
        g(5)
    match x:
        case 1:
            g(6)
    with x as b:
        g(b)

    def inner():
        return x

    return inner
"""
PLACES = [place for place, line in enumerate(FUNCTION.split("\n")[:-1]) if line[:1] == " " and "case" not in line]


def told(text: str) -> list[object]:
    """Give what is known of the definitions of a text, but for lines."""
    empty = "".join(line if line.strip() != "idle = 7" else "" for line in text.splitlines(keepends=True))
    assert empty == FUNCTION
    numbered = str.maketrans("", "", "0123456789")
    return [(d.name, d.locals, str(d.body).translate(numbered)) for d in read("a.py", text).definitions]


@pytest.mark.parametrize("place", PLACES)
def test_it_is_left_out(place: int) -> None:
    lines = FUNCTION.split("\n")
    if lines[place].strip().startswith(("except", "else", "finally")):
        place += 1
    indent = " " * (len(lines[place]) - len(lines[place].lstrip()))
    assert told("\n".join([*lines[:place], f"{indent}idle = 7", *lines[place:]])) == told(FUNCTION)


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\n    return x",
        "x = 1\n    x += 1",
        "x = 1\n    del x",
        "x = 1\n    return lambda: x",
        "x = 1\n    return f'{x}'",
        "x = 1\n    x = g()",
        "x = 1\n    class C:\n        z = x",
        "x = 1\n    def g():\n        nonlocal x\n        x = 2",
        "x = 1\n    def g():\n        return [x for y in z]",
        "global x\n    x = 1",
        "x = g(1)",
        "x = y = 1",
        "x, y = 1, 2",
        "x.y = 1",
        "x[0] = 1",
    ],
)
def test_what_is_asked_for_or_does_more_stays(body: str) -> None:
    (definition, *_) = read("a.py", f"def f():\n    {body}\n").definitions[1:]
    assert any(node[0] == "assign" for node in definition.body)


def test_a_parameter_that_is_bound_anew_and_names_of_a_module_or_a_class_stay() -> None:
    facts = read("a.py", "ON = 1\n\n\nclass C:\n    on = 1\n\n\ndef f(x):\n    x = None\n")
    assert facts.assigns == (("ON", ("C", 1)),)
    assert facts.classes[0].attributes == (("on", ("C", 1)),)
    assert facts.definitions[1].body[0][0] == "assign"
    assert facts.definitions[1].locals == ("x",)
