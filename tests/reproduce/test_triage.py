"""Dumps of the flight recorder, taken from hangs on two GPUs: where the ranks part, and which finding explains it."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.reproduce.triage import Unreadable, partings, read

DUMPS = Path(__file__).parent / "dumps"


def triage(name: str, tmp_path: Path, meshlint: CommandLine) -> str:
    """Run it on a copy: files of tests are not judged."""
    folder = tmp_path / "job"
    shutil.copytree(DUMPS / name, folder)
    (folder / "train.txt").rename(folder / "train.py")
    run = meshlint("triage", folder, folder)
    assert run.status == 1
    return run.out


def test_a_silent_pairing_is_at_fault_and_the_line_that_hangs_is_not(tmp_path: Path, meshlint: CommandLine) -> None:
    out = triage("pairs", tmp_path, meshlint)
    assert "they part at call 2" in out
    assert "rank 0: all_reduce Float[1] at train.py:14 (log_metric)" in out
    assert "rank 1: all_reduce Float[1] at train.py:18 (step)" in out
    assert "the recorder blames call 5 of rank 0, all_reduce Float[1] at train.py:18 (step): innocent" in out
    assert "explained by COL001 at" in out
    assert "train.py:14" in out.split("explained by")[1]


def test_sides_that_differ(tmp_path: Path, meshlint: CommandLine) -> None:
    out = triage("sizes", tmp_path, meshlint)
    assert "rank 0: broadcast Float[4] at train.py:15 (batch)" in out
    assert "rank 1: all_reduce Float[1] at train.py:18 (<module>)" in out
    assert "explained by COL004" in out


def test_a_rank_that_never_came(tmp_path: Path, meshlint: CommandLine) -> None:
    out = triage("gated", tmp_path, meshlint)
    assert "rank 0: never came" in out


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("run",))


def test_nothing_in_a_dump_is_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace_0").write_bytes(pickle.dumps({"entries": [Evil()]}))
    with pytest.raises(Unreadable, match="no dump"):
        read(tmp_path)
    assert "run" not in capfd.readouterr().out


@pytest.mark.parametrize("content", [b"", b"{", b"text", b'{"entries": 3}', pickle.dumps([1, 2]), pickle.dumps({})])
def test_what_is_no_dump_is_told_of(content: bytes, tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "trace_0").write_bytes(content)
    run = meshlint("triage", tmp_path)
    assert run.status == 2
    assert "no dump of the flight recorder" in run.err


def test_a_folder_without_dumps_or_none_at_all(tmp_path: Path, meshlint: CommandLine) -> None:
    assert "holds no dumps" in meshlint("triage", tmp_path).err
    assert "there is no folder" in meshlint("triage", tmp_path / "none").err


@pytest.mark.parametrize(
    "entry", [{}, {"collective_seq_id": "x"}, {"collective_seq_id": 1, "profiling_name": "nccl:x"}, 3]
)
def test_odd_entries_are_no_traceback(entry: object, tmp_path: Path) -> None:
    (tmp_path / "trace_0").write_bytes(pickle.dumps({"entries": [entry], "pg_config": {"0": {"ranks": "[0"}}}))
    assert partings(read(tmp_path)) == ()


def test_equal_ranks_part_nowhere(tmp_path: Path, meshlint: CommandLine) -> None:
    for rank in ("0", "1"):
        shutil.copy(DUMPS / "sizes" / "trace_0", tmp_path / f"trace_{rank}")
    run = meshlint("triage", tmp_path)
    assert run.status == 0
    assert "nothing parts" in run.out
