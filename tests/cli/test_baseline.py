"""`meshlint baseline` and `check --baseline`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import CommandLine

FIXTURES = Path(__file__).parents[2] / "fixtures"
RIGHT = (FIXTURES / "HCP001" / "good" / "slime.sh").read_text()
WRONG = (FIXTURES / "HCP001" / "bad" / "slime.sh").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "one.sh").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_written_is_not_told_again(folder: Path, meshlint: CommandLine) -> None:
    run = meshlint("baseline", "write")
    assert (run.status, run.err) == (0, "meshlint-baseline.txt: 1 finding\n")
    run = meshlint("check", "--baseline", "meshlint-baseline.txt", "--format", "concise")
    assert (run.status, run.out) == (0, "")


def test_lines_that_move_keep_their_entry(folder: Path, meshlint: CommandLine) -> None:
    meshlint("baseline", "write")
    (folder / "one.sh").write_text(WRONG.replace("#!/bin/bash\n", "#!/bin/bash\n# one\n# two\n"))
    assert meshlint("check", "--baseline", "meshlint-baseline.txt").status == 0


def test_a_new_finding_is_told(folder: Path, meshlint: CommandLine) -> None:
    meshlint("baseline", "write")
    (folder / "two.sh").write_text(WRONG)
    run = meshlint("check", "--baseline", "meshlint-baseline.txt", "--format", "concise")
    assert run.status == 1
    assert [line.split(":")[0] for line in run.out.splitlines()] == ["two.sh"]


def test_a_second_one_of_a_kind_is_told(folder: Path, meshlint: CommandLine) -> None:
    meshlint("baseline", "write")
    launch = WRONG[WRONG.index("ray job") :]
    (folder / "one.sh").write_text(WRONG + launch)
    text = (folder / "meshlint-baseline.txt").read_text()
    assert meshlint("check", "--baseline", "meshlint-baseline.txt").status == 0  # one cause, one finding
    (folder / "meshlint-baseline.txt").write_text(text.splitlines()[0] + "\n")
    assert meshlint("check", "--baseline", "meshlint-baseline.txt").status == 1


def test_a_stale_entry_is_noted_and_pruned(folder: Path, meshlint: CommandLine) -> None:
    meshlint("baseline", "write")
    (folder / "one.sh").write_text(RIGHT)
    run = meshlint("check", "--baseline", "meshlint-baseline.txt")
    assert run.status == 0
    assert "meshlint-baseline.txt:2: HCP001 in one.sh is not found any more" in run.err
    assert "meshlint-baseline.txt:2" not in meshlint("check", "one.sh", "--baseline", "meshlint-baseline.txt").err
    run = meshlint("baseline", "prune")
    assert run.err == "meshlint-baseline.txt: 0 findings, 1 stale taken out\n"
    assert meshlint("baseline", "show").out == ""


def test_an_entry_that_could_not_be_judged_stays(folder: Path, meshlint: CommandLine) -> None:
    """An unknown stops the rule of the entry: nothing says that its finding is gone."""
    script = folder / "moe.sh"
    sizes = "--num-experts 8 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1"
    rest = "--micro-batch-size 1 --global-batch-size 16 --num-layers 4"
    line = f"torchrun --nproc-per-node 8 pretrain_gpt.py {sizes} {rest} --pipeline-model-parallel-size 2"
    script.write_text(f"{line}\n")
    (folder / "one.sh").unlink()
    meshlint("baseline", "write")
    kept = (folder / "meshlint-baseline.txt").read_text()
    script.write_text(f"{line} --context-parallel-size 3\n")
    run = meshlint("baseline", "prune")
    assert "PAR002" in kept
    assert "0 stale taken out" in run.err
    assert (folder / "meshlint-baseline.txt").read_text() == kept


def test_json_says_so(folder: Path, meshlint: CommandLine) -> None:
    meshlint("baseline", "write")
    assert '"baselined": true' in meshlint("check", "--baseline", "meshlint-baseline.txt", "--format", "json").out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ":1: this is not a baseline"),
        ("x\n", ":1: this is not a baseline"),
        ("# meshlint baseline 12: CODE\n", ":1: this is not a baseline"),
        ("# meshlint baseline 1\nHCP001\n", ":2: an entry is"),
        ("# meshlint baseline 1\nHCP001 ab x0\tone.sh\n", ":2: an entry is"),
        ("# meshlint baseline 1\nHCP001 ab x9999999999999\tone.sh\n", ":2: an entry is"),
    ],
)
def test_a_baseline_that_is_none(folder: Path, meshlint: CommandLine, text: str, sentence: str) -> None:
    (folder / "b.txt").write_text(text)
    run = meshlint("check", "--baseline", "b.txt")
    assert run.status == 2
    assert f"b.txt{sentence}" in run.err


def test_a_baseline_that_is_not_there(folder: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--baseline", "nothere.txt")
    assert run.status == 2
    assert "nothere.txt: it cannot be read: No such file or directory" in run.err


def test_a_pipe_or_a_device_is_no_baseline(folder: Path, meshlint: CommandLine) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        (folder / "meshlint.toml").write_text(f'baseline = "{name}"\n')
        run = meshlint("check")
        assert (run.status, f"{name}: it is no plain file" in run.err) == (2, True)


def test_only_a_baseline_is_written_over(folder: Path, meshlint: CommandLine) -> None:
    (folder / "precious").write_text("precious\n")
    (folder / "meshlint.toml").write_text('baseline = "precious"\n')
    run = meshlint("baseline", "write")
    assert (run.status, "it holds something else" in run.err) == (2, True)
    (folder / "link").symlink_to("meshlint-baseline.txt")
    (folder / "meshlint.toml").write_text("")
    assert meshlint("baseline", "write").status == 0
    run = meshlint("baseline", "write", "--file", "link")
    assert (run.status, "nothing is written through one" in run.err) == (2, True)
    assert (folder / "precious").read_text() == "precious\n"


@pytest.mark.parametrize("path", ["a\u2028b.sh", "a\x0cb.sh", "a\x85b.sh"])
def test_any_path_is_kept(folder: Path, meshlint: CommandLine, path: str) -> None:
    (folder / "one.sh").rename(folder / path)
    assert meshlint("baseline", "write").status == 0
    assert meshlint("check", "--baseline", "meshlint-baseline.txt").status == 0
    assert "0 stale taken out" in meshlint("baseline", "prune").err


def test_prune_wants_everything(folder: Path, meshlint: CommandLine) -> None:
    meshlint("baseline", "write")
    assert meshlint("baseline", "prune", "one.sh").status == 2


def test_the_settings_name_a_baseline(folder: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyproject.toml").write_text('[tool.meshlint]\nbaseline = "kept/known.txt"\n')
    (folder / "kept").mkdir()
    run = meshlint("check")
    assert run.status == 2
    assert "kept/known.txt: it cannot be read: No such file or directory" in run.err
    assert meshlint("baseline", "write").err.endswith("kept/known.txt: 1 finding\n")
    assert meshlint("check", "--format", "concise").out == ""
    assert "HCP001" in meshlint("check", "--no-baseline", "--format", "concise").out
    monkeypatch.chdir(folder / "kept")
    assert meshlint("check", "..", "--format", "concise").status == 0
    assert meshlint("baseline", "show").out.count("HCP001") == 1
    run = meshlint("check", "--baseline", "known.txt", "--no-baseline")
    assert (run.status, "give --baseline or --no-baseline, not both" in run.err) == (2, True)


@pytest.mark.parametrize("text", ["baseline = 1", 'baseline = " "', "baseline = true"])
def test_a_baseline_that_is_no_file_is_refused(folder: Path, meshlint: CommandLine, text: str) -> None:
    (folder / "meshlint.toml").write_text(f"{text}\n")
    run = meshlint("check")
    assert run.status == 2
    assert "meshlint.toml:1: `baseline` must be" in run.err
