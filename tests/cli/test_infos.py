"""Infos are short in the text for people: those that say the same are one, with a line for each place."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine

LAUNCH = (
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 \\\n  --cp-comm-type a2a --context-parallel-size {cp}\n"
)


@pytest.mark.parametrize("scripts", [1, 3, 12])
def test_equal_infos_are_one_block(scripts: int, tmp_path: Path, meshlint: CommandLine) -> None:
    for number in range(scripts):
        (tmp_path / f"run{number:02}.sh").write_text(LAUNCH.format(cp=1))
    words = ("check", "--select", "CTX010", tmp_path)
    text = meshlint(*words).out
    block = text.split("\n\n")[0].splitlines()
    assert text.count("info[CTX010]") == 1
    places = [line for line in block if line.endswith("--cp-comm-type a2a --context-parallel-size 1")]
    assert [place.split(":")[0] for place in places] == [f"  run{n:02}.sh" for n in range(min(scripts, 10))]
    assert ("  and 2 more places: --verbose" in block) is (scripts == 12)
    assert sum(line.startswith("  fix: ") for line in block) == 1
    (launches,) = [line for line in block if line.startswith("  launches: ")]
    assert launches.startswith("  launches: run00.sh::command 1")
    assert f"\n{scripts} info" in text
    assert meshlint(*words, "--verbose").out.count("info[CTX010]") == scripts


def test_infos_that_differ_stand_apart(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "one.sh").write_text(LAUNCH.format(cp=1))
    (tmp_path / "two.sh").write_text(LAUNCH.format(cp=1).replace("a2a", "all_gather"))
    assert meshlint("check", "--select", "CTX010", tmp_path).out.count("info[CTX010]") == 2


CODE = """import os

import torch.distributed as dist


def save(path):
    if os.path.exists(path):
        dist.barrier()
"""


@pytest.mark.parametrize("files", [1, 2, 12])
def test_an_info_about_code_shows_its_call_and_its_gate(files: int, tmp_path: Path, meshlint: CommandLine) -> None:
    for number in range(files):
        (tmp_path / f"run{number:02}.py").write_text(CODE)
    text = meshlint("check", "--isolated", "--no-cache", "--select", "COL", tmp_path).out
    assert text.count("info[COL006]") == 1
    for number in range(min(files, 10)):
        assert (
            f"  run{number:02}.py:8:9  (the run hangs)\n"
            "    |\n  8 |         dist.barrier()\n    |         ^^^^^^^^^^^^^^\n"
            f"  run{number:02}.py:7:5  the gate that divides the ranks\n  7 | if os.path.exists(path):\n"
        ) in text
    assert ("  and 2 more places: --verbose\n" in text) is (files == 12)
    assert sum(line.startswith("  fix: ") for line in text.splitlines()) == 1
