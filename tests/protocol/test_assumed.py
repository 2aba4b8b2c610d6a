"""Guards that raise: what holds behind them, and no earlier."""

from __future__ import annotations

from pathlib import Path

from meshlint.engine.options import Options
from meshlint.engine.run import check

HEAD = "import torch.distributed as dist\n\n\ndef step(x, last, steps):\n    rank = dist.get_rank()\n"
GUARD = "if rank != 0 and last:\n    raise ValueError\n"
LEAVE = "if rank == 0 and last:\n    return\n"
EVENT = "dist.all_reduce(x)\n"


def lines(tmp_path: Path, body: str) -> list[int]:
    file = tmp_path / "step.py"
    file.write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    found = check([str(file)], Options(cache=False, select=("COL",), cwd=tmp_path)).findings
    return [one.span.line for one in found]


def inside(head: str, body: str) -> str:
    return head + "".join(f"    {line}\n" for line in body.splitlines())


def test_a_guard_settles_what_comes_behind_it(tmp_path: Path) -> None:
    assert lines(tmp_path, GUARD + LEAVE + EVENT) == []
    assert lines(tmp_path, inside("for _ in range(steps):\n", GUARD + LEAVE + EVENT)) == []


def test_a_guard_settles_nothing_in_front_of_it(tmp_path: Path) -> None:
    assert lines(tmp_path, LEAVE + EVENT + GUARD) == [7]
    assert lines(tmp_path, inside("for _ in range(steps):\n", LEAVE + EVENT + GUARD)) == [8]


def test_a_guard_settles_nothing_once_it_may_have_been_caught(tmp_path: Path) -> None:
    caught = inside("try:\n", GUARD) + "except ValueError:\n    pass\n"
    assert lines(tmp_path, caught + LEAVE + EVENT) == [12]
    assert lines(tmp_path, inside("with forgiving():\n", GUARD) + LEAVE + EVENT) == [10]
