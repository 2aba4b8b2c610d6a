"""`[[tool.meshlint.models]]`: what the settings say of functions that nobody can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

CODE = """import torch
import torch.distributed as dist

from extension import comm, fast_sync, main_only


@main_only
def save(x):
    dist.barrier()


def saved(x):
    save(x)


def synced(x):
    if dist.get_rank() == 0:
        fast_sync(x)


def by_stage(x):
    if comm.stage == 0:
        dist.barrier()


def agreed(x):
    flag = torch.tensor([dist.get_rank() == 0])
    fast_sync(flag)
    if not flag.item():
        return
    dist.barrier()
"""
FIRST = '[[models]]\nnames = ["fast_sync"]\nkind = "op"\ndims = ["world"]\n'
DOCS = Path(__file__).parents[2] / "docs" / "settings.md"


def _found(meshlint: CommandLine, folder: Path, settings: str, name: str) -> list[tuple[str, int]]:
    (folder / "train.py").write_text(CODE)
    (folder / name).write_text(settings)
    run = meshlint("check", "--format", "json", str(folder))
    return [(f["code"], f["line"]) for f in json.loads(run.out)["findings"]]


def test_the_example_of_the_page_says_what_it_means(meshlint: CommandLine, tmp_path: Path) -> None:
    example = DOCS.read_text().partition("## Functions of your own")[2].split("```")[1].removeprefix("toml")
    assert _found(meshlint, tmp_path, "", "pyproject.toml") == []
    found = [("COL001", 13), ("COL001", 18), ("COL001", 23)]
    assert _found(meshlint, tmp_path, example, "pyproject.toml") == found


def test_an_event_without_a_name_has_that_of_its_function(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    (tmp_path / "meshlint.toml").write_text(FIRST)
    assert "`fast_sync` on the world group is not reached" in meshlint("check", str(tmp_path)).out


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('dims = ["tensor"]', "dims has no 'tensor'; there are world, cp"),
        ("dims = [1]", "dims must be a list of names"),
        ("group = [1]", "the position and the keyword"),
        ('group = ["group", 1]', "the position and the keyword"),
        ('payload = [true, "x"]', "the position and the keyword"),
        ('effect = "nothing"', "effect must be one of none, in-place"),
        ('place = "third"', "place must be one of first"),
        ('composite = "yes"', "composite must be true or false"),
        ("op = 1", "op must be text"),
        ("", "op needs `dims`"),
    ],
)
def test_a_model_that_means_nothing_is_refused(meshlint: CommandLine, tmp_path: Path, row: str, told: str) -> None:
    (tmp_path / "train.py").write_text(CODE)
    (tmp_path / "meshlint.toml").write_text(f'[[models]]\nnames = ["fast_sync"]\nkind = "op"\n{row}\n')
    run = meshlint("check", str(tmp_path))
    assert (run.status, told in run.err) == (2, True)


@pytest.mark.parametrize("names", ["[1]", '[""]', '["a b"]', "[]", '"fast_sync"'])
def test_a_name_that_no_function_has_is_refused(meshlint: CommandLine, tmp_path: Path, names: str) -> None:
    (tmp_path / "train.py").write_text(CODE)
    (tmp_path / "meshlint.toml").write_text(f'[[models]]\nnames = {names}\nkind = "pure"\n')
    run = meshlint("check", str(tmp_path))
    assert (run.status, "name" in run.err) == (2, True)
