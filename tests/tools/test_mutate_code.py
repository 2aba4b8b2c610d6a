"""Mutants of code: what the edits make, and what is counted."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import mutate_code
import pytest

TEXT = """
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def norm(x):
    # all of them
    dist.all_reduce(
        x,
        group=mpu.get_data_parallel_group(),
    )
    dist.barrier()
    total = x.sum()
    return total


def share(batch):
    if mpu.get_tensor_model_parallel_rank() == 0:
        dist.broadcast(batch["a"], mpu.get_tensor_model_parallel_src_rank(), mpu.get_tensor_model_parallel_group())
        dist.broadcast(batch["b"], mpu.get_tensor_model_parallel_src_rank(), mpu.get_tensor_model_parallel_group())
    else:
        dist.broadcast(batch["a"], mpu.get_tensor_model_parallel_src_rank(), mpu.get_tensor_model_parallel_group())
        dist.broadcast(batch["b"], mpu.get_tensor_model_parallel_src_rank(), mpu.get_tensor_model_parallel_group())
"""


def source() -> mutate_code.Source:
    return mutate_code.Source("pkg/work.py", TEXT)


def made(name: str) -> mutate_code.Mutant:
    operator = {**mutate_code.BREAKING, **mutate_code.KEEPING}[name]
    for spot, after in mutate_code.spots(source()):
        mutant = operator(source(), spot, after, random.Random(3))
        if mutant is not None:
            return mutant
    raise AssertionError(f"{name} fits nowhere")


def test_only_calls_that_every_rank_comes_to_are_taken() -> None:
    found = [(spot.function, spot.call, spot.group, spot.dim) for spot, _ in mutate_code.spots(source())]
    assert found == [("norm", "all_reduce", "mpu.get_data_parallel_group()", "dp"), ("norm", "barrier", "", "")]


@pytest.mark.parametrize("name", [*mutate_code.BREAKING, *mutate_code.KEEPING])
def test_mutants_are_programs_and_say_which_lines_are_new(name: str) -> None:
    mutant = made(name)
    lines = mutant.text.split("\n")
    first, last = mutant.lines
    assert mutant.text != TEXT
    assert ast.parse(mutant.text)
    assert 1 <= first <= last <= len(lines)
    assert bool(mutant.codes) is (name in mutate_code.BREAKING)


def test_a_gate_is_put_round_the_whole_statement() -> None:
    text = made("gate").text
    assert "    # all of them\n" in text
    assert "() == 0:\n        dist.all_reduce(\n            x,\n" in text


def test_sides_are_dropped_and_swapped() -> None:
    mutants = list(mutate_code.on_sides(source()))
    assert [m.operator for m in mutants] == ["drop", "swap", "drop", "drop", "swap", "drop"]
    assert all(ast.parse(m.text) for m in mutants)
    assert mutants[1].text.index('batch["b"]') < mutants[1].text.index('batch["a"]')


def test_a_tree_is_judged_and_the_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "trees" / "one" / "pkg"
    folder.mkdir(parents=True)
    (folder / "work.py").write_text(TEXT)
    monkeypatch.setenv("MESHLINT_UPSTREAM", str(tmp_path / "trees"))
    words = ["one", "--each", "2", "--results", str(tmp_path / "rows.jsonl"), "--only", "gate", "--only", "print"]
    assert mutate_code.main(words) == 0
    rows = (tmp_path / "rows.jsonl").read_text().splitlines()
    first = capsys.readouterr().out
    assert len(rows) == 2
    assert "found one gate pkg/work.py" in first
    assert "ok    one print pkg/work.py" in first
    assert mutate_code.main(words) == 0
    assert "pkg/work.py" not in capsys.readouterr().out
    assert (tmp_path / "rows.jsonl").read_text().splitlines() == rows


def test_without_checkouts_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("MESHLINT_UPSTREAM", raising=False)
    assert mutate_code.main([]) == 0
    assert "skipped" in capsys.readouterr().out
