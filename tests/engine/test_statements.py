"""A finding about a statement speaks of the statement, not of the indentation before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlint.engine.gather import context_of
from meshlint.engine.options import Options
from meshlint.engine.program import check_program, widened
from meshlint.engine.ruleset import load, narrow
from meshlint.place import Span
from meshlint.sources.discover import discover

PROGRAM = """\
import torch.distributed as dist


def report(x):
    if dist.get_rank() != 0:
        return None  # the others have nothing to say
    dist.all_reduce(x)
    return x
"""


def test_an_early_exit_is_marked_where_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "report.py").write_text(PROGRAM)
    scope = discover((str(tmp_path),), tmp_path)
    rules = narrow(load(), ("COL",), preview=True)
    [judged] = check_program(scope, context_of(scope, Options()), rules, ()).judged
    assert judged.finding.span == Span("report.py", 6, 9, 6, 20)
    assert [(r.span.line, r.span.column) for r in judged.finding.related] == [(5, 5), (7, 5)]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("    return x", (5, 13)),
        ("\treturn x  # done", (2, 10)),
        ("  return 'a#b'", (3, 15)),
        ("  return 'a'  # b", (3, 18)),
        ("", (1, 2)),
        ("   ", (1, 2)),
        ("  # nothing else", (1, 2)),
    ],
)
def test_a_bare_line_becomes_what_is_written_there(text: str, columns: tuple[int, int]) -> None:
    span = widened(Span("a.py", 7), text)
    assert (span.column, span.end_column) == columns
