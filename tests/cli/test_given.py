"""A finding shows the options and variables that took part, beside the lines of the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

LAUNCH = "torchrun --nproc-per-node 8 pretrain_gpt.py --cp-comm-type a2a+p2p --context-parallel-size "


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a script whose context parallel size comes from outside; it is in the current folder."""
    (tmp_path / "run.sh").write_text(f"{LAUNCH}${{ACTOR_CP:-1}}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def given(out: str) -> list[str]:
    (finding,) = [f for f in json.loads(out)["findings"] if f["code"] == "HCP001"]
    return list(finding["given"])


def test_an_option_that_took_part_is_shown(meshlint: CommandLine) -> None:
    words = ("check", "--select", "HCP001", "--env", "ACTOR_CP=2")
    line = "--env ACTOR_CP=2: context_parallel_size = 2"
    assert f"\n  {line}\n" in meshlint(*words, "run.sh").out
    for _ in range(2):  # anew, and out of the cache
        assert given(meshlint(*words, "--format", "json", "run.sh").out) == [line]
    assert f"%0A{line}%0A" in meshlint(*words, "--format", "github", "run.sh").out.replace("%3A", ":")
    (result,) = json.loads(meshlint(*words, "--format", "sarif", "run.sh").out)["runs"][0]["results"]
    assert result["properties"]["given"] == [line]


def test_the_settings_and_the_environment_of_a_command_are_shown(
    project: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "meshlint.toml").write_text("[environment]\nACTOR_CP = 2\n")
    of_settings = given(meshlint("check", "--format", "json", "run.sh").out)
    assert of_settings == ["environment ACTOR_CP in the settings: context_parallel_size = 2"]
    monkeypatch.setenv("ACTOR_CP", "4")
    of_command = given(meshlint("check", "--isolated", "--format", "json", "--", "bash", "run.sh").out)
    assert of_command == ["ACTOR_CP=4: context_parallel_size = 4"]


def test_what_stands_in_a_file_is_no_option(project: Path, meshlint: CommandLine) -> None:
    (project / "run.sh").write_text(f"{LAUNCH}2\n")
    assert given(meshlint("check", "--env", "ACTOR_CP=2", "--format", "json", "run.sh").out) == []


@pytest.mark.parametrize(
    ("pin", "judged"),
    [("=0.16.1", "0.16.1"), ("==0.16.1", "0.16.1"), (">=0.16,<0.18", "0.16.1 to 0.17.1"), ("~=0.16.0", "0.16.1")],
)
def test_a_pin_is_taken_as_requirements_write_it(meshlint: CommandLine, project: Path, pin: str, judged: str) -> None:
    (project / "run.sh").write_text(f"{LAUNCH}4\n")
    run = meshlint("config", "run.sh", "--pin", f"megatron-core{pin}")
    assert f"megatron-core {judged}  " in run.out
