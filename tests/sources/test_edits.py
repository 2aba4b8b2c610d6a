"""Edits made on a text, and on Python's syntax tree."""

from __future__ import annotations

import pytest

from meshlint.finding import Edit
from meshlint.place import Span
from meshlint.sources.splice import MisfitError, spliced

SOURCE = (
    'cfg.sizes = [ [3, 2],  4 ]  # odd\nname = f"--cp {cp}  --comm p2p"   # kept\nif  on :\n    cfg.model.cp =(2)\n'
)


def edit(line: int, start: int, end: int, text: str) -> Edit:
    return Edit(Span("a.py", line, start, line, end), text)


@pytest.mark.parametrize(
    ("made", "before", "after"),
    [
        (edit(1, 16, 20, "2, 2"), "[3, 2]", "[2, 2]"),
        (edit(1, 24, 25, "8"), "  4 ]", "  8 ]"),
        (edit(2, 28, 31, "a2a"), "--comm p2p", "--comm a2a"),
        (edit(4, 20, 21, "4"), "=(2)", "=(4)"),
        (edit(4, 15, 17, "tp"), "model.cp", "model.tp"),
        (edit(4, 22, 22, "\n    cfg.model.tp = 1"), "=(2)\n", "=(2)\n    cfg.model.tp = 1\n"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_python_is_changed_where_the_edit_is_and_nowhere_else(made: Edit, before: str, after: str, ending: str) -> None:
    cst = pytest.importorskip("meshlint.sources.cst", reason="the extra `fix` is not installed")
    wanted = SOURCE.replace(before, after).replace("\n", ending)
    assert SOURCE.count(before) == 1
    assert cst.rewritten(SOURCE.replace("\n", ending), [made]) == wanted
    assert spliced(SOURCE.replace("\n", ending), [made]) == wanted


@pytest.mark.parametrize(
    "made",
    [edit(4, 18, 19, "+="), edit(4, 20, 21, "4 +"), edit(3, 1, 3, "while"), edit(1, 24, 25, "for"), edit(9, 1, 2, "x")],
)
def test_an_edit_that_is_no_literal_name_or_statement_is_refused(made: Edit) -> None:
    cst = pytest.importorskip("meshlint.sources.cst", reason="the extra `fix` is not installed")
    with pytest.raises(MisfitError):
        cst.rewritten(SOURCE, [made])


def test_a_file_that_is_no_python_is_refused() -> None:
    cst = pytest.importorskip("meshlint.sources.cst", reason="the extra `fix` is not installed")
    with pytest.raises(MisfitError):
        cst.rewritten("def (:\n", [edit(1, 1, 2, "x")])


def test_edits_of_one_place_are_refused_and_the_same_edit_twice_is_one() -> None:
    assert spliced("cp: 2\n", [edit(1, 5, 6, "4"), edit(1, 5, 6, "4")]) == "cp: 4\n"
    with pytest.raises(MisfitError):
        spliced("cp: 2\n", [edit(1, 5, 6, "4"), edit(1, 4, 6, "8")])


@pytest.mark.parametrize("span", [(1, 9, 1, 10), (0, 1, 0, 1), (3, 1, 3, 2), (1, 3, 1, 2)])
def test_an_edit_outside_of_the_text_is_refused(span: tuple[int, int, int, int]) -> None:
    with pytest.raises(MisfitError):
        spliced("cp: 2\n", [Edit(Span("a", *span), "x")])


def test_the_last_line_goes_whole() -> None:
    assert spliced("a\nb", [Edit(Span("a", 2, 1, 3, 1), "")]) == "a\n"
    assert spliced("a\nb\n", [Edit(Span("a", 2, 1, 3, 1), "")]) == "a\n"
