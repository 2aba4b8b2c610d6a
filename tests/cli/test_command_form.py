"""`meshlint check -- COMMAND`: the judgement of the file, with the command's words and environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

SCRIPT = """\
import argparse

from megatron.bridge import AutoBridge
from megatron.bridge.models import GPTModelProvider
from megatron.bridge.training.config import ConfigContainer
from megatron.bridge.training.pretrain import pretrain


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cp", type=int, default=4)
    args = parser.parse_args()
    model = GPTModelProvider(
        num_layers=32, num_attention_heads=32, seq_length=4096,
        context_parallel_size=args.cp,
        cp_comm_type="a2a+p2p",
    )
    pretrain(ConfigContainer(model=model), None)


if __name__ == "__main__":
    main()
"""
PINS = ("--pin", "megatron-bridge=0.3.0", "--pin", "transformer-engine=2.8.0")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project with one script of a person's own; it is the current folder."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("meshlint.config.installed.sys.prefix", "/nonexistent")
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "run.sh").write_text("torchrun --nproc-per-node 8 train.py --cp 1\ntorchrun train.py\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def codes(out: str) -> list[str]:
    """Give code and place of each finding."""
    return [f"{f['code']} {f['path']}:{f['line']}" for f in json.loads(out)["findings"]]


def test_the_command_form_judges_what_the_file_form_judges(meshlint: CommandLine) -> None:
    of_file = meshlint("check", *PINS, "--format", "json", "train.py")
    of_command = meshlint("check", *PINS, "--format", "json", "--", "torchrun", "--nproc-per-node", "8", "train.py")
    assert of_file.status == of_command.status == 1
    assert codes(of_file.out) == codes(of_command.out) == ["HCP001 train.py:16"]
    (coverage,) = json.loads(of_command.out)["coverage"]
    assert coverage["launch"]["identity"] == "command line::command 1"


def test_the_words_of_the_command_count(meshlint: CommandLine) -> None:
    run = meshlint("check", *PINS, "--format", "json", "--", "torchrun", "train.py", "--cp", "1")
    assert codes(run.out) == []
    shown = meshlint("config", "--", "torchrun", "--nproc-per-node", "8", "train.py", "--cp", "2").out
    assert "context_parallel_size = 2" in shown
    assert "world_size = 8" in shown


def test_a_script_that_starts_the_file_is_a_launch_too(meshlint: CommandLine) -> None:
    run = meshlint("check", *PINS, "--format", "json", "run.sh")
    (finding,) = json.loads(run.out)["findings"]
    assert (finding["code"], finding["launch"]["identity"]) == ("HCP001", "run.sh::command 2")


def test_a_subfolder_of_a_checkout_is_where_the_command_runs(
    project: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".git").mkdir()
    inner = project / "jobs"
    inner.mkdir()
    (project / "train.py").rename(inner / "train.py")
    (project / "run.sh").rename(inner / "run.sh")
    monkeypatch.chdir(inner)
    assert meshlint("check", *PINS, "--", "torchrun", "train.py").status == 1
    assert meshlint("check", *PINS, "--", "bash", "run.sh").status == 1


def test_a_program_elsewhere_is_read(
    project: Path, tmp_path_factory: pytest.TempPathFactory, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert meshlint("check", *PINS, "--", "torchrun", project / "train.py").status == 1


def test_an_unknown_program_is_said_to_be_none(meshlint: CommandLine) -> None:
    run = meshlint("check", "--", "ls", "-l")
    assert (run.status, run.err) == (0, "meshlint: the command behind `--` is no launch that meshlint knows\n")
    assert meshlint("check", "--require-launch", "--", "ls").status == 2


CP = ("--context-parallel-size", "4")


@pytest.mark.parametrize("flags", [(), CP])
@pytest.mark.parametrize(
    "words",
    [
        ("torchrun", "--nproc-per-node", "8", "nowhere.py"),
        ("bash", "nowhere.sh"),
        ("python", "-u", "nowhere.py"),
        ("./scripts/pretrain_gpt.py",),
    ],
)
def test_a_program_that_is_not_there_is_a_fault_of_use(
    words: tuple[str, ...], flags: tuple[str, ...], meshlint: CommandLine
) -> None:
    for verb in ("check", "config"):
        run = meshlint(verb, "--", *words, *flags)
        assert run.status == 2
        assert f"there is no program file `{words[-1]}`" in run.err


@pytest.mark.parametrize(
    "words",
    [
        ("srun", "--container-image=x.sqsh", "python", "/opt/nowhere.py"),
        ("docker", "run", "image", "python", "/opt/nowhere.py"),
        ("ray", "job", "submit", "--", "python3", "nowhere.py"),
    ],
)
def test_what_is_started_elsewhere_need_not_be_here(words: tuple[str, ...], meshlint: CommandLine) -> None:
    run = meshlint("check", "--format", "json", "--", *words, *CP, "--cp-comm-type", "a2a+p2p")
    assert "HCP001 command line:1" in codes(run.out)


@pytest.mark.parametrize("words", [("python", "setup.py"), ("python", "-m", "pytest")])
def test_a_build_and_a_test_are_no_launch(words: tuple[str, ...], project: Path, meshlint: CommandLine) -> None:
    (project / "setup.py").write_text("from setuptools import setup\n\nsetup()\n")
    run = meshlint("check", "--", *words, *CP)
    assert (run.status, run.err) == (0, "meshlint: the command behind `--` is no launch that meshlint knows\n")


def test_a_known_entry_point_need_not_be_there(meshlint: CommandLine) -> None:
    words = ("torchrun", "--nproc-per-node", "8", "pretrain_gpt.py", "--context-parallel-size", "4")
    run = meshlint("check", "--format", "json", "--", *words, "--cp-comm-type", "a2a+p2p")
    assert "HCP001 command line:1" in codes(run.out)


def test_an_ellipsis_stands_for_what_was_left_out(meshlint: CommandLine) -> None:
    words = ("torchrun", "pretrain_gpt.py", "--context-parallel-size", "4", "--cp-comm-type", "a2a+p2p", "...")
    run = meshlint("check", "--", *words)
    assert run.status == 0
    assert "`...` stands for arguments that were left out" in run.out
    shown = meshlint("config", "--", *words).out
    assert 'cp_comm_type = ["a2a+p2p"]' in shown
