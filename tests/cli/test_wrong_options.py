"""Options with values that mean nothing are refused in one sentence, and file names stay file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine

GOOD = Path(__file__).parents[2] / "fixtures" / "HCP001" / "good" / "megatron.sh"
BAD = Path(__file__).parents[2] / "fixtures" / "HCP001" / "bad" / "megatron.sh"

WRONG = {
    "a library misspelt": (("--pin", "megatron-cor=1"), "did you mean `megatron-core`?"),
    "a library by a nickname": (("--pin", "te=2.1"), "there are megatron-bridge, megatron-core"),
    "no version": (("--pin", "megatron-core="), "neither a version"),
    "a range that nothing is in": (("--pin", "megatron-core=>=0.17,<0.15"), "no release of megatron-core"),
    "a word that has to be equal": (("--pin", "megatron-core====main"), "no release of megatron-core"),
    "a word for a version": (("--pin", "megatron-core=abc"), "neither a version"),
    "a GPU that is none": (("--gpu", "NONSENSE"), "there is no GPU `NONSENSE`"),
    "a pattern left open": (("--exclude", "["), "opens a `[`"),
    "no value": (("--env", "X"), "NAME=VALUE"),
    "no ranks": (("--world-size", "0"), "--world-size"),
    "no such rule": (("--select", "XYZ999"), "there is no rule `XYZ999`"),
    "no such format": (("--output", "nonsense=f"), "FORMAT=FILE"),
    "no such level": (("--fail-level", "x"), "--fail-level"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_a_usage_error(meshlint: CommandLine, name: str) -> None:
    words, told = WRONG[name]
    run = meshlint("check", "--isolated", "--no-cache", *words, GOOD)
    assert run.status == 2
    assert told in run.err
    assert "Traceback" not in run.err


@pytest.mark.parametrize("text", ['versions = {megatron-cor = "1"}\n', 'gpu = "NONSENSE"\n', 'exclude = ["["]\n'])
def test_a_wrong_value_in_the_settings_is_one_too(meshlint: CommandLine, tmp_path: Path, text: str) -> None:
    (tmp_path / "meshlint.toml").write_text(text)
    (tmp_path / "run.sh").write_text(GOOD.read_text())
    assert meshlint("check", "--no-cache", tmp_path).status == 2


@pytest.mark.parametrize("form", ["full", "concise", "json", "jsonl", "sarif", "github"])
@pytest.mark.parametrize(
    "name", ["::error file=x::boo.sh", "##[error]boo.sh", "a\n::error::boo.sh", "a\x1b[31m\u202eb.sh"]
)
def test_a_file_name_commands_nothing(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: str
) -> None:
    (tmp_path / name).write_text(BAD.read_text())
    monkeypatch.chdir(tmp_path)
    out = meshlint("check", "--isolated", "--no-cache", "--format", form, ".").out
    assert out
    assert "\x1b" not in out
    assert "\u202e" not in out
    lines = out.splitlines()
    assert not any(line.startswith("##[") for line in lines)
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == (1 if form == "github" else 0)
    assert all("b.sh" in line.split("::")[1] or "boo.sh" in line.split("::")[1] for line in commands)


@pytest.mark.parametrize(
    ("pin", "told"),
    [
        ("megatron-core=99.9", "--pin: megatron-core 99.9 is newer than the newest release that meshlint knows ("),
        ("megatron_core===99.9", "--pin: megatron-core 99.9 is newer than"),
        ("torch=1.0", "--pin: torch 1.0 is older than the oldest release that is supported ("),
        ("megatron-core=0.16.1", ""),
        ("transformer_engine=2.8", ""),
        ("transformer-engine=>=99", ""),
    ],
)
def test_a_pin_to_a_version_beyond_those_that_are_known_is_told(
    pin: str, told: str, tmp_path: Path, meshlint: CommandLine
) -> None:
    (tmp_path / "run.sh").write_text("torchrun pretrain_gpt.py --context-parallel-size 2\n")
    run = meshlint("check", "--isolated", "--no-cache", "--pin", pin, tmp_path)
    assert run.status == 0
    assert run.err.startswith(f"meshlint: {told}") if told else run.err == ""


def test_a_version_of_the_settings_beyond_those_that_are_known_is_told_at_its_line(
    tmp_path: Path, meshlint: CommandLine
) -> None:
    file = tmp_path / "meshlint.toml"
    file.write_text('[versions]\nverl = "77.0"\n')
    (tmp_path / "run.sh").write_text("torchrun pretrain_gpt.py --context-parallel-size 2\n")
    assert f"meshlint: {file}:2: verl 77.0 is newer than" in meshlint("check", tmp_path).err
