"""A suppression in Python code: one that cannot hold is told, as in a launch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

CODE = """import torch.distributed as dist


def step(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)  {}
"""


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("# meshlint: ignore[COL001]", "a reason must be given"),
        ("# meshlint: ignore COL001 -- a test", "must read"),
        ("# meshlint: ignore[COL01] -- a test", "did you mean `COL001`?"),
    ],
)
def test_a_bad_one_is_told(meshlint: CommandLine, tmp_path: Path, comment: str, told: str) -> None:
    (tmp_path / "train.py").write_text(CODE.format(comment))
    run = meshlint("check", "--format", "json", str(tmp_path))
    found = [(f["code"], f["line"]) for f in json.loads(run.out)["findings"]]
    assert found == [("COL001", 6), ("MSH002", 6)]
    assert told in json.loads(run.out)["findings"][1]["message"]


def test_a_good_one_holds(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE.format("# meshlint: ignore[COL001] -- a test"))
    run = meshlint("check", "--format", "json", str(tmp_path))
    assert [(f["code"], f["suppressed"]) for f in json.loads(run.out)["findings"]] == [("COL001", "a test")]
    assert run.status == 0
