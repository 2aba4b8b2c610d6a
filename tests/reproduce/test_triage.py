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
    with pytest.raises(Unreadable, match=r"`trace_0` is not read: it asks for builtins\.print"):
        read(tmp_path)
    assert "run" not in capfd.readouterr().out


@pytest.mark.parametrize("content", [b"", b"{", b"text", b'{"entries": 3}', pickle.dumps([1, 2]), pickle.dumps({})])
def test_what_is_no_dump_is_told_of(content: bytes, tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "trace_0").write_bytes(content)
    run = meshlint("triage", tmp_path)
    assert run.status == 2
    assert "no dump of the flight recorder" in run.err


def test_dumps_are_found_among_other_files(tmp_path: Path, meshlint: CommandLine) -> None:
    for rank in (0, 1):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes((DUMPS / "gated" / f"trace_{rank}").read_bytes())
    (tmp_path / "backup1").write_text("hi")
    run = meshlint("triage", tmp_path, tmp_path)
    assert (run.status, "they part at call 2" in run.out) == (1, True)


def test_a_folder_without_dumps_or_none_at_all(tmp_path: Path, meshlint: CommandLine) -> None:
    assert "holds no dumps" in meshlint("triage", tmp_path).err
    assert "there is no folder" in meshlint("triage", tmp_path / "none").err


def endless(depth: int) -> object:
    """Give a list that is small, and whose text has no end: each level holds the one below twice."""
    made: object = "x"
    for _ in range(depth):
        made = [made, made]
    return made


DEEP = b"(" * 50_000 + b"l" * 50_000 + b"."
HUGE_MEMO = b"\x80\x02}r\xff\xff\xff\x3f."  # asks for a place that takes 16 GiB
HUGE_TEXT = b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\x00\x00."


@pytest.mark.parametrize("content", [HUGE_MEMO, HUGE_TEXT, DEEP, b'{"entries": ' + b"[" * 100_000])
def test_a_dump_that_asks_for_too_much_is_told_of(content: bytes, tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "trace_0").write_bytes(content)
    run = meshlint("triage", tmp_path)
    assert run.status == 2
    assert "no dump of the flight recorder" in run.err


ENTRY = {"collective_seq_id": 1, "profiling_name": "nccl:all_reduce"}


@pytest.mark.parametrize(
    "dump",
    [
        {"entries": [ENTRY | {"process_group": 7}], "pg_config": [1]},
        {"entries": [ENTRY | {"process_group": {"a": 1}}], "pg_config": {1: {"ranks": "[" * 9999}, "b": {"ranks": {}}}},
        {"entries": [ENTRY | {"process_group": endless(64), "state": endless(64)}]},
        {"entries": [ENTRY | {"profiling_name": endless(64)}, ENTRY | {"collective_seq_id": 1 << 99999}]},
        {"entries": [ENTRY | {"input_sizes": [3, endless(64)], "input_dtypes": ["a", endless(64)]}]},
        {"entries": [ENTRY | {"frames": [endless(64), {"filename": "a.py", "name": 3, "line": "4"}]}]},
        {"entries": [ENTRY], "pg_config": {"0": {"ranks": [endless(64)], "desc": endless(64)}}},
    ],
)
def test_wrong_types_in_a_dump_are_left_out(dump: object, tmp_path: Path) -> None:
    (tmp_path / "trace_0").write_bytes(pickle.dumps(dump))
    assert partings(read(tmp_path)) == ()


def test_names_in_a_dump_cannot_steer_a_terminal(tmp_path: Path, meshlint: CommandLine) -> None:
    for rank, line in enumerate((1, 2)):
        frame = {"filename": "a\x1b[2J\n::error::b.py", "name": "\x1b]0;x\x07", "line": line}
        entry = ENTRY | {"process_group": ["0", "::error::\x1b[31m"], "frames": [frame]}
        (tmp_path / f"trace_{rank}").write_bytes(pickle.dumps({"entries": [entry]}))
    run = meshlint("triage", tmp_path, tmp_path)
    assert run.status == 1
    assert "they part at call 1" in run.out
    assert not {"\x1b", "\x07"} & {*run.out}
    assert not any(line.lstrip().startswith("::") for line in run.out.split("\n"))


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


def dump(*lines: int, ranks: object = (0, 1, 2, 3), **more: object) -> bytes:
    """Make a dump with an all-reduce at each line; the last one never ended."""
    entries = [
        ENTRY
        | {"collective_seq_id": number, "state": "started" if number == len(lines) else "completed"}
        | {"frames": [{"filename": "/job/train.py", "name": "step", "line": line}], "process_group": ["0", "world"]}
        | more
        for number, line in enumerate(lines, 1)
    ]
    return pickle.dumps({"entries": entries, "pg_config": {"0": {"desc": "world", "ranks": str([*ranks])}}})  # type: ignore[misc]


def folder(tmp_path: Path, **files: bytes) -> Path:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "job").mkdir()
    return tmp_path


def test_a_dump_that_is_half_written_is_left_out_and_its_rank_is_named(tmp_path: Path, meshlint: CommandLine) -> None:
    stuck, whole = dump(10, 30), dump(10)
    dumps = folder(tmp_path, rank_0=stuck, rank_1=stuck[:90], rank_2=b"", rank_3=whole)
    run = meshlint("triage", dumps, dumps / "job")
    assert run.status == 1
    assert "left out: `rank_1` is no dump of the flight recorder, or not a whole one (" in run.err
    assert "left out: `rank_2` is no dump of the flight recorder, or not a whole one (it is empty)" in run.err
    assert "world, ranks 0, 3: they part at call 2" in run.out
    assert "ranks 1, 2: no dump that can be read" in run.out
    assert "next: none of these files lies in" in run.out


def test_ranks_that_do_alike_are_told_of_together(tmp_path: Path, meshlint: CommandLine) -> None:
    many = range(40)
    files = {f"rank_{n}": dump(10, 30, ranks=many) if n != 17 else dump(10, ranks=many) for n in many}
    run = meshlint("triage", folder(tmp_path, **files), tmp_path / "job")
    assert "world, ranks 0-39: they part at call 2" in run.out
    assert "ranks 0-16, 18-39: all_reduce at train.py:30 (step)\n  rank 17: never came" in run.out
    assert run.out.count("\n") < 8


def test_a_call_that_all_came_to_is_no_fault_of_the_order(tmp_path: Path, meshlint: CommandLine) -> None:
    run = meshlint("triage", folder(tmp_path, rank_0=dump(10, 30), rank_2=dump(10, 30)))
    assert run.status == 0
    assert "nothing parts" in run.out
    assert "world, call 2: ranks 0, 2 came to all_reduce at train.py:30 (step)\n  it never ended" in run.out
    assert "ranks 1, 3: no dump that can be read" in run.out


def test_open_calls_to_one_peer_are_told_of(tmp_path: Path, meshlint: CommandLine) -> None:
    sent = dump(50, is_p2p=True, profiling_name="nccl:send 0->1")
    run = meshlint("triage", folder(tmp_path, rank_0=sent, rank_1=dump(10)), tmp_path / "job")
    assert run.status == 1
    assert "rank 0: never came; it has not got past send 0->1 at train.py:50 (step)" in run.out
    (tmp_path / "rank_1").write_bytes(sent)
    run = meshlint("triage", tmp_path)
    assert run.status == 0
    assert "never ended, which are not compared here:\n  ranks 0, 1: send 0->1 at train.py:50 (step)" in run.out


def test_dumps_of_two_hangs_are_not_mixed(tmp_path: Path, meshlint: CommandLine) -> None:
    run = meshlint("triage", folder(tmp_path, rank_0=dump(10), old_rank_0=dump(10)))
    assert (run.status, "`old_rank_0` and `rank_0` are both of rank 0" in run.err) == (2, True)
    run = meshlint("triage", tmp_path / "rank_0")
    assert (run.status, "is a file: triage compares ranks" in run.err) == (2, True)


def test_what_to_do_next_is_told(tmp_path: Path, meshlint: CommandLine) -> None:
    out = triage("pairs", tmp_path, meshlint)
    assert "next: `meshlint explain COL001` says what to change" in out
    assert "none of these files" not in out
    command = out.split("`meshlint reproduce ")[1].split(" --write")[0].split()
    assert meshlint("reproduce", *command, "--write", tmp_path / "repro.py").status == 0
    assert "train.py:14" in (tmp_path / "repro.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("place", "named", "says"),
    [
        ("src/train.py", "src", "explained by COL001"),
        ("src/train.py", "src/train.py", "explained by COL001"),
        ("job/train.py", ".", "explained by COL001"),
        ("src/train.py", ".", "perhaps explained, as the name and line of the file are the same, by COL001"),
        ("src/other.py", ".", "none of these files lies in ."),
    ],
)
def test_a_tree_may_lie_elsewhere_than_on_the_machine_that_hung(
    place: str, named: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meshlint: CommandLine
) -> None:
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_bytes((DUMPS / "pairs" / "train.txt").read_bytes())
    monkeypatch.chdir(tmp_path)
    run = meshlint("triage", DUMPS / "pairs", named)
    assert (run.status, says in run.out) == (1, True)
