"""A file that cannot be written is told before anything is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine

BAD = Path(__file__).parents[2] / "fixtures" / "HCP001" / "bad" / "megatron.sh"


@pytest.mark.parametrize(
    ("file", "told"),
    [("nowhere/a.json", "there is no folder `nowhere`"), (".", "is a folder"), ("run.sh/a.json", "there is no folder")],
)
def test_nothing_is_judged_for_a_file_that_cannot_be_written(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, told: str
) -> None:
    (tmp_path / "run.sh").write_text(BAD.read_text())
    monkeypatch.chdir(tmp_path)
    run = meshlint("check", "--isolated", "--no-cache", "--output", f"json={file}", "run.sh")
    assert run.status == 2
    assert run.out == ""
    assert f"--output json={file}: " in run.err
    assert told in run.err


def test_a_file_that_is_there_is_written_over(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "a=b.json").write_text("old")
    run = meshlint("check", "--isolated", "--no-cache", "--output", f"json={tmp_path / 'a=b.json'}", BAD)
    assert run.status == 1
    assert (tmp_path / "a=b.json").read_text().startswith("{")
