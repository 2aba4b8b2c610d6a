"""What of a file is as it was but for its lines: such definitions keep their hash, and it is known where lines are."""

from __future__ import annotations

import pytest

from meshlint.protocol.facts import read
from meshlint.protocol.heads import Head, head_of
from meshlint.protocol.lineage import Lines, following

TEXT = """\
import torch

LIMIT = max(1, 2)


class Box:
    size = len("abc")

    def first(self, x):
        if x:
            self.run(x, 1)
        return [y for y in x]


def outer(x, key=len("d")):
    try:
        x = torch.ones(1)
    except ValueError:
        x = None

    def inner(y):
        return y(x)

    return inner


def last(x):
    return outer(x)
"""
FIRST, OUTER, INNER, LAST = 1, 2, 3, 4


def after(old: str, new: str) -> tuple[Head, Head]:
    """Give the head of a text, and that of another one which comes after it."""
    was, now = read("a.py", old), read("a.py", new)
    head = head_of(was, old)
    return head, following(was, head, "before", now, head_of(now, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    try:\n", "    # a comment\n\n    try:\n"),
        ("        x = None\n\n", "        x = None\n"),
        ("        return y(x)", "        # a comment\n        return y(x)"),
        ("import torch\n", "# a comment\nimport torch\n"),
        ("        return [y for y in x]", "\n\n        return [y for y in x]  # all of them"),
        ("x = torch.ones(1)", "x = torch.ones(1)  # one"),
        ("        x = None\n", "        unused = 1\n        x = None\n"),
    ],
)
def test_comments_and_empty_lines_leave_every_hash_and_say_where_lines_are(old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    head, now = after(TEXT, text)
    assert now.bodies == head.bodies
    lines, there = Lines(now.moves[1]), text.split("\n")
    known = [(line, lines.now(line)) for line in range(1, TEXT.count("\n") + 1)]
    told = [(TEXT.split("\n")[line - 1], there[at - 1]) for line, at in known if at is not None]
    assert all(before.strip() == then.partition("  #")[0].strip() for before, then in told if before.strip())
    assert {"    return outer(x)", "        return y(x)", "        x = None", '    size = len("abc")'} <= {
        t for t, _ in told
    }


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return outer(x)", "return outer(y)", {0, LAST}),
        ("return outer(x)", "return outer(True)", {0, LAST}),
        ("return outer(x)", "return outer( x)", {0, LAST}),  # it stands in another column
        ("return outer(x)", "return outer(\n        x)", {0, LAST}),
        ("return y(x)", "z = y\n        return y(x)", {0, OUTER, INNER}),
        ("return y(x)", "return y(x, 1)", {0, OUTER, INNER}),
        ("self.run(x, 1)", "self.run(x, 1.0)", {0, FIRST}),
        ("self.run(x, 1)", "self.run(x, 1); self.run(x, 1)", {0, FIRST}),
        ("except ValueError", "except KeyError", {0, OUTER}),
        ('key=len("d")', 'key=len("e")', {0, OUTER}),
        ("        if x:\n            self.run", "        if x: self.run", {0, FIRST}),
        ("    return inner", "    return inner\n" + "    # a comment\n" * 20, set()),
    ],
)
def test_whatever_says_something_else_has_another_hash(old: str, new: str, changed: set[int]) -> None:
    head, now = after(TEXT, TEXT.replace(old, new))
    assert {index for index, body in enumerate(now.bodies) if head.bodies[index] != body} == changed


def test_lines_of_a_changed_body_are_not_known_and_those_behind_it_are() -> None:
    _, now = after(TEXT, TEXT.replace("self.run(x, 1)", "self.run(x, 2)\n            self.run(x, 1)"))
    lines = Lines(now.moves[1])
    assert [lines.now(line) for line in (9, 10, 11, 12)] == [None] * 4
    assert [lines.now(line) for line in (15, 16, 27, 28)] == [16, 17, 28, 29]


def test_a_definition_that_grows_over_what_is_short_is_another_one() -> None:
    text = TEXT.replace("    return outer(x)", "    # a comment\n" * 20 + "    return outer(x)")
    head, now = after(TEXT, text)
    assert head.bodies[LAST] != now.bodies[LAST]
    assert head.bodies[OUTER] == now.bodies[OUTER]


def test_a_hash_is_kept_over_several_edits_and_on_the_way_back() -> None:
    texts = [
        TEXT,
        TEXT.replace("    try:\n", "    # a\n    try:\n"),
        TEXT.replace("    try:\n", "    # a\n\n    try:\n"),
    ]
    facts = [read("a.py", text) for text in (*texts, TEXT)]
    first = head = head_of(facts[0], TEXT)
    for before, (now, text) in zip(facts, zip(facts[1:], (*texts[1:], TEXT), strict=True), strict=False):
        head = following(before, head, "before", now, head_of(now, text))
        assert head.bodies == first.bodies
        assert Lines(head.moves[1]).now(1) == 1


def test_definitions_that_change_places_are_others() -> None:
    one, other = "def one(x):\n    return x(1)\n\n\n", "def other(x):\n    return x(1)\n\n\n"
    head, now = after(one + other, other + one)
    assert all(before != then for before, then in zip(head.bodies, now.bodies, strict=True))
