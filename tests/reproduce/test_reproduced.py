"""What the runner says of arms: outcomes, waits, and everything that must never count as shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.reproduce import pretend
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.run import Runner
from meshlint.reproduce.verdict import ArmVerdict, Verdict

GATED = "group = groups([[0, 1]])\nif rank == 0:\n    dist.barrier(group=group)\ndist.barrier()"
PLAIN = "dist.barrier()"


def shown(failing: str, happens: Happens, right: str = PLAIN, **more: object) -> Verdict:
    case = Case("one", "one", 2, Arm(failing, happens, **more), fixed(right))  # type: ignore[arg-type]
    with Runner() as runner:
        return runner.run(Reproducer("ABC001", (case,)), Depth.SIMULATE)


def failing(verdict: Verdict) -> ArmVerdict:
    return verdict.cases[0].arms[0]


def test_a_hang_says_who_waits_where_for_whom() -> None:
    verdict = shown(GATED, Happens.HANG)
    assert verdict.shown
    waits = [(wait.rank, wait.op, wait.line, wait.whom) for wait in failing(verdict).waits]
    assert waits == [(0, "barrier", 3, (1,)), (1, "barrier", 4, (0,))]


def test_another_outcome_than_the_rule_states_is_not_shown() -> None:
    verdict = shown(PLAIN, Happens.HANG)
    assert not verdict.shown
    assert failing(verdict).happened is Happens.OK
    assert "states `hang`" in failing(verdict).why


def test_a_fixed_arm_that_fails_is_not_shown() -> None:
    assert not shown(GATED, Happens.HANG, GATED).shown


def test_an_error_must_say_what_the_rule_states() -> None:
    raising = "raise ValueError('cp is 3')"
    assert shown(raising, Happens.CRASH, error="cp is 3").shown
    assert not shown(raising, Happens.CRASH, error="tp is 3").shown


def test_silent_pairing_gives_the_numbers_of_both() -> None:
    text = "if rank == 0:\n    dist.all_reduce(torch.tensor([5.0]))\nx = torch.tensor([1.0])\ndist.all_reduce(x)\n"
    facts = pretend.run(text + "check('x', x, 2.0)", 2)
    assert [rank.state for rank in facts.ranks] == ["waiting", "finished"]
    assert [check.value for check in facts.ranks[1].checks] == ["6"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("dist.broadcast(torch.zeros(2), src=0)", "dist.broadcast(torch.zeros(3), src=0)"),
        ("dist.broadcast(torch.zeros(2), src=0)", "dist.broadcast(torch.zeros(2), src=1)"),
        ("dist.broadcast(torch.zeros(2), src=0)", "dist.all_reduce(torch.zeros(2))"),
        ("dist.all_reduce(torch.zeros(2))", "dist.all_reduce(torch.zeros(2, dtype=torch.int64))"),
        ("dist.new_group([0])", "dist.new_group([1])"),
    ],
)
def test_sides_that_differ_are_a_mismatch(first: str, second: str) -> None:
    verdict = shown(f"if rank == 0:\n    {first}\nelse:\n    {second}", Happens.MISMATCH)
    assert verdict.shown


def test_async_operations_block_where_they_are_waited_for() -> None:
    text = "x = torch.tensor([rank + 1.0])\nwork = dist.all_reduce(x, async_op=True)\nwork.wait()\ncheck('x', x, 3.0)"
    assert shown(GATED, Happens.HANG, text).shown


@pytest.mark.parametrize(
    "words", [("--depth", "gpu"), ("--depth", "cpu", "--python", "no-such-python"), ("--nproc", "1")]
)
def test_what_did_not_run_is_never_shown(words: tuple[str, ...], meshlint: CommandLine) -> None:
    if words[-1] == "1":
        words = (*words, "--depth", "simulate")
    run = meshlint("reproduce", "CTX004" if "gpu" in words else "COL002", *words)
    assert run.status == 1
    assert "run" in run.out
    assert run.out.rstrip().endswith("not shown")


def test_the_verdict_is_json_that_says_all(meshlint: CommandLine) -> None:
    import json

    run = meshlint("reproduce", "gated-collective", "--depth", "simulate", "--case", "pairs-silently", "--json")
    assert run.status == 0
    data = json.loads(run.out)
    assert (data["code"], data["depth"], data["shown"]) == ("COL001", "simulate", True)
    arm = data["cases"][0]["arms"][0]
    assert arm["outcome"] == arm["expected"] == "wrong-values"
    assert arm["waits"] == [{"rank": 0, "op": "all_reduce", "line": 5, "group": [0, 1], "for": [1]}] or arm["waits"]
    assert {"rank", "line", "name", "value", "right", "relative_error"} == set(arm["values"][0])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("COL01",), "did you mean `COL001`"),
        (("MSH001",), "has no reproducer"),
        (("COL001", "--case", "nothing"), "there are: hang"),
        (("COL001", "--write", "no/such/folder/repro.py"), "cannot be written"),
        (("COL001", "--depth", "deep"), "Invalid value"),
    ],
)
def test_faults_of_use(words: tuple[str, ...], says: str, meshlint: CommandLine) -> None:
    run = meshlint("reproduce", *words)
    assert run.status == 2
    assert says in run.err


@pytest.mark.parametrize("name", ["a\nb.py", 'a"""; raise SystemExit; """.py', "$(x).py", "\u202e.py", "`x`"])
def test_a_script_does_not_run_its_name(name: str, meshlint: CommandLine, tmp_path: Path) -> None:
    assert meshlint("reproduce", "COL001", "--write", tmp_path / name).status == 0
    text = (tmp_path / name).read_text("utf-8")
    assert "nproc-per-node 2 repro.py failing" in text
    assert "SystemExit" not in text


def test_a_script_goes_into_a_pipe_and_behind_a_link(meshlint: CommandLine, tmp_path: Path) -> None:
    pipe, link, real = tmp_path / "pipe", tmp_path / "link.py", tmp_path / "real.py"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert meshlint("reproduce", "COL001", "--write", pipe).status == 0
    assert os.read(reader, 9) == b'"""COL001'
    os.close(reader)
    assert pipe.is_fifo()
    link.symlink_to(real)
    assert meshlint("reproduce", "COL001", "--write", link).status == 0
    assert link.is_symlink()
    assert real.read_text("utf-8").startswith('"""COL001')


def test_a_script_keeps_the_mode_of_the_file_and_can_be_printed(meshlint: CommandLine, tmp_path: Path) -> None:
    old = tmp_path / "old\x1b.py"
    old.touch(0o755)
    run = meshlint("reproduce", "COL001", "--write", old)
    assert (run.status, "\\x1b.py (" in run.err, "\x1b" in run.err) == (0, True, False)
    assert old.stat().st_mode & 0o777 == 0o755
    run = meshlint("reproduce", "COL001", "--write", "-")
    assert (run.status, run.out) == (0, old.read_text("utf-8"))


def test_a_python_that_was_asked_for_is_used_or_told_of(meshlint: CommandLine, tmp_path: Path) -> None:
    run = meshlint("reproduce", "COL001", "--python", tmp_path / "none")
    assert (run.status, "there is no program" in run.out) == (1, True)
    program = Path(__file__).parent / "dumps" / "gated" / "train.txt"
    (tmp_path / "train.py").write_bytes(program.read_bytes())
    run = meshlint("check", tmp_path, "--select", "COL001", "--preview", "--python", tmp_path / "none")
    assert "reproduced: not run at depth cpu: there is no program" in " ".join(run.out.split())


def test_ranks_that_come_to_the_end_stay_where_others_hang(meshlint: CommandLine) -> None:
    """A rank that left would close its connections, and gloo would raise where the script says that it hangs."""
    hangs = meshlint("reproduce", "COL001", "--case", "hang", "--write", "-").out
    assert hangs.index("end = dist.new_group") < hangs.index("[sys.argv[1]]()") < hangs.index("dist.barrier(end)")
    assert "dist.barrier(end)" not in meshlint("reproduce", "COL001", "--case", "pairs-silently", "--write", "-").out


def test_a_script_needs_a_name(meshlint: CommandLine) -> None:
    run = meshlint("reproduce", "COL001", "--write", "")
    assert (run.status, "names no file" in run.err) == (2, True)


def test_a_script_is_written_whole_or_not_at_all(meshlint: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "taken"
    folder.mkdir()
    assert meshlint("reproduce", "COL001", "--write", folder).status == 2
    assert list(tmp_path.iterdir()) == [folder]
    assert meshlint("reproduce", "COL001", "--write", tmp_path / "repro.py").status == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["repro.py", "taken"]


def test_a_verdict_quotes_the_line_and_shows_what_differs(meshlint: CommandLine) -> None:
    hang = meshlint("reproduce", "COL001", "--depth", "simulate", "--case", "hang").out
    assert "rank 0 waits at line 4 (`dist.all_reduce(loss, group=cp)`) in all_reduce of ranks 0, 1 for rank 1" in hang
    wrong = meshlint("reproduce", "HCP001", "--depth", "simulate", "--case", "no-sizes").out
    values = [
        line.split(" attention is ")[1].split("], right is ") for line in wrong.splitlines() if " right is " in line
    ]
    assert values
    assert all(got.strip("[") != right.split("]")[0].strip("[") for got, right in values)


def test_what_is_written_has_the_depth_asked_for_and_says_what_it_needs(meshlint: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "repro.py"
    run = meshlint("reproduce", "PKD001", "--write", file)
    assert "it needs megatron-core, Transformer Engine and 2 GPUs" in run.err
    assert "both need megatron-core, Transformer Engine and 2 GPUs" in file.read_text()
    run = meshlint("reproduce", "PKD001", "--depth", "cpu", "--write", file)
    assert ("needs" in run.err, "megatron" in file.read_text()) == (False, False)
    run = meshlint("reproduce", "PAR001", "--depth", "simulate", "--write", file)
    assert (run.status, "no case to write at depth simulate" in run.err) == (2, True)
