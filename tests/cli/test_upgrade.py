"""`check --upgrade`: what changes verdict where a library's version moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import CommandLine

SCRIPT = """\
#!/bin/bash
torchrun --nproc-per-node 8 pretrain_gpt.py \\
    --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 \\
    --micro-batch-size 1 --global-batch-size 16 --context-parallel-size 4 \\
    --multi-latent-attention \\
    --cp-comm-type a2a
"""
"""MLA under a2a fails on Transformer Engine 2.5 to 2.14, and runs from 2.15 on."""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("meshlint.config.installed.sys.prefix", "/nonexistent")
    (tmp_path / "meshlint.toml").write_text("")
    (tmp_path / "run.sh").write_text(SCRIPT)
    (tmp_path / "requirements.txt").write_text("megatron-core==0.16.1\ntransformer-engine==2.16.1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def upgrade(meshlint: CommandLine, *words: str) -> tuple[int, dict[str, Any]]:
    run = meshlint("check", "--format", "json", *words)
    return run.status, json.loads(run.out)["upgrade"]


def codes(findings: list[dict[str, Any]]) -> list[str]:
    return [finding["code"] for finding in findings]


def test_what_is_new_fails_the_run(meshlint: CommandLine) -> None:
    status, found = upgrade(meshlint, "--upgrade", "transformer-engine=2.10")
    assert status == 1
    assert codes(found["new"]) == ["CTX011"]
    assert found["moves"] == [
        {
            "library": "transformer-engine",
            "release": "2.10.0",
            "before": [{"versions": "2.16.1", "launches": 1}],
            "elsewhere": 0,
            "along": False,
        }
    ]
    assert found["new"][0]["pinned"]["transformer-engine"] == "--upgrade"


def test_what_goes_does_not_fail_the_run(meshlint: CommandLine, project: Path) -> None:
    (project / "requirements.txt").write_text("megatron-core==0.16.1\ntransformer-engine==2.10.0\n")
    assert meshlint("check").status == 1
    status, found = upgrade(meshlint, "--upgrade", "transformer-engine=2.16")
    assert (status, codes(found["new"]), codes(found["gone"])) == (0, [], ["CTX011"])


def test_what_stays_is_unchanged_and_does_not_fail_the_run(meshlint: CommandLine, project: Path) -> None:
    (project / "requirements.txt").write_text("megatron-core==0.16.1\ntransformer-engine==2.10.0\n")
    status, found = upgrade(meshlint, "--upgrade", "transformer-engine=2.9")
    assert (status, codes(found["unchanged"])) == (0, ["CTX011"])


def test_what_grows_graver_fails_the_run(meshlint: CommandLine, project: Path) -> None:
    (project / "requirements.txt").write_text("megatron-core==0.16.1\n")
    status, found = upgrade(meshlint, "--upgrade", "transformer-engine=2.10")
    (turned,) = found["changed"]
    assert status == 1
    assert (turned["before"]["severity"], turned["after"]["severity"]) == ("warning", "error")
    out = meshlint("check", "--upgrade", "transformer-engine=2.10").out
    assert "graver:" in out and "0 new, 1 graver, 0 gone, 0 unchanged." in out


def test_several_libraries_move_together(meshlint: CommandLine) -> None:
    _, found = upgrade(meshlint, "--upgrade", "transformer_engine=2.10", "--upgrade", "megatron-core=0.19")
    assert [(move["library"], move["release"]) for move in found["moves"]] == [
        ("megatron-core", "0.19.2"),
        ("transformer-engine", "2.10.0"),
    ]


RECIPE = """\
from megatron.bridge.models import GPTModelProvider
from megatron.bridge.training.config import ConfigContainer


def tiny_config():
    return ConfigContainer(model=GPTModelProvider(num_layers=8, num_attention_heads=8))
"""


def test_what_a_framework_brings_moves_along(meshlint: CommandLine, project: Path) -> None:
    (project / "requirements.txt").write_text("megatron-bridge==0.4.2\n")
    (project / "recipe.py").write_text(RECIPE)
    _, found = upgrade(meshlint, "--upgrade", "megatron-bridge=0.5", "recipe.py")
    assert [(move["library"], move["release"], move["along"]) for move in found["moves"]][:2] == [
        ("megatron-bridge", "0.5.1", False),
        ("megatron-core", "0.18.2", True),
    ]
    out = meshlint("check", "--upgrade", "megatron-bridge=0.5", "recipe.py").out
    assert "megatron-core 0.17.1 -> 0.18.2 in 1 launch; comes along" in out


def test_an_exact_patch_release_is_taken_as_it_is(meshlint: CommandLine) -> None:
    _, found = upgrade(meshlint, "--upgrade", "megatron-core=0.19.0")
    assert found["moves"][0]["release"] == "0.19.0"


def test_a_pin_on_the_command_line_is_what_moves(meshlint: CommandLine) -> None:
    words = ("--pin", "transformer-engine=2.16.1", "--upgrade", "transformer-engine=2.10")
    assert upgrade(meshlint, *words)[0] == 1


def test_libraries_that_no_launch_uses_are_told(meshlint: CommandLine) -> None:
    out = meshlint("check", "--upgrade", "verl=0.8").out
    assert out.startswith("verl not used by 1 launch")


def test_a_move_to_where_it_is_says_so(meshlint: CommandLine) -> None:
    out = meshlint("check", "--upgrade", "transformer-engine=2.16.1").out
    assert out.startswith("transformer-engine stays 2.16.1 in 1 launch\n")


def test_a_command_is_judged_on_both(meshlint: CommandLine) -> None:
    words = SCRIPT.replace("\\\n", " ").split("\n")[1].split()
    assert meshlint("check", "--upgrade", "transformer-engine=2.10", "--", *words).status == 1


def test_a_baseline_holds_what_it_holds(meshlint: CommandLine, project: Path) -> None:
    meshlint("baseline", "write", "--pin", "transformer-engine=2.10")
    assert (project / "meshlint-baseline.txt").exists()
    words = ("--baseline", "meshlint-baseline.txt", "--upgrade", "transformer-engine=2.10")
    assert upgrade(meshlint, *words)[0] == 0


@pytest.mark.parametrize("form", ["concise", "markdown", "github", "sarif", "jsonl"])
def test_every_format_tells_what_is_new(meshlint: CommandLine, form: str) -> None:
    run = meshlint("check", "--format", form, "--upgrade", "transformer-engine=2.10")
    assert run.status == 1
    assert "cannot do multi_latent_attention" in run.out
    again = meshlint("check", "--format", form, "--upgrade", "transformer-engine=2.17")
    assert (again.status, "cannot do multi_latent_attention" in again.out) == (0, False)


def test_formats_can_be_written_to_files(meshlint: CommandLine, project: Path) -> None:
    meshlint("check", "--output", "json=found.json", "--upgrade", "transformer-engine=2.10")
    assert codes(json.loads((project / "found.json").read_text())["upgrade"]["new"]) == ["CTX011"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "megatroncore=0.19",
            "there is no library `megatroncore` whose version is judged; did you mean `megatron-core`?",
        ),
        ("megatron-core=0.99", "meshlint knows no release 0.99; the newest that it knows is 0.19.2"),
        ("transformer-engine=1.14", "knows no release 1.14; the nearest that it knows are 1.13.0 and 2.1.0"),
        ("megatron-core=1!0.19", "meshlint knows no release 1!0.19; the newest that it knows is 0.19.2"),
        ("megatron-core=0.3", "meshlint knows no release 0.3; the oldest that it knows is 0.10.0"),
        ("megatron-core=soon", "`soon` is no version such as 0.19.2"),
        ("megatron-core", "`megatron-core` is not of the form NAME=VALUE"),
    ],
)
def test_what_is_not_known_is_one_sentence(meshlint: CommandLine, word: str, said: str) -> None:
    run = meshlint("check", "--upgrade", word)
    assert run.status == 2
    assert said in run.err
    assert run.out == ""


def test_a_change_and_an_upgrade_exclude_each_other(meshlint: CommandLine) -> None:
    run = meshlint("check", "--upgrade", "megatron-core=0.19", "--diff", "main")
    assert run.status == 2
    assert "--upgrade or --diff, not both" in run.err
