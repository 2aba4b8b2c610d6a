"""Snapshots of the command line over fixtures; `MESHLINT_REGENERATE=1 pytest tests/golden` writes them anew."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint import __version__

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"
BAD = "HCP001/bad/functional/model_config.yaml"
SHELL = "HCP006/bad/verl.sh"
CASES = {
    "yaml-full": (BAD, "check"),
    "shell-full": (SHELL, "check"),
    "shell-coloured": (SHELL, "check", "--color", "always"),
    "yaml-verbose": (BAD, "check", "--verbose"),
    "yaml-concise": (BAD, "check", "--format", "concise"),
    "yaml-json": (BAD, "check", "--format", "json"),
    "yaml-jsonl": (BAD, "check", "--format", "jsonl"),
    "yaml-sarif": (BAD, "check", "--format", "sarif"),
    "yaml-github": (BAD, "check", "--format", "github"),
    "yaml-config": (BAD, "config"),
    "shell-config": (SHELL, "config"),
    "shell-why": (SHELL, "config", "--why", "HCP006"),
}
LAUNCHES = {
    "card-text": ("card", "small.sh"),
    "card-no-go": ("card", "--color", "always", "wide.sh"),
    "card-markdown": ("card", "--format", "markdown", "wide.sh"),
    "card-json": ("card", "--format", "json", "small.sh"),
    "diff-text": ("diff", "small.sh", "wide.sh"),
    "diff-markdown": ("diff", "--format", "markdown", "small.sh", "wide.sh"),
    "diff-json": ("diff", "--format", "json", "small.sh", "wide.sh"),
    "upgrade-full": ("check", "--upgrade", "transformer-engine=2.16", "mla.sh"),
    "upgrade-markdown": ("check", "--format", "markdown", "--upgrade", "transformer-engine=2.16", "mla.sh"),
}
"""Verbs that are told on the launches beside this file."""
PINS = (
    "--pin",
    "megatron-core=0.16.1",
    "--pin",
    "transformer-engine=2.8.0",
    "--pin",
    "torch=2.8.0",
    "--pin",
    "verl=0.7.1",
)


_COUNTS = re.compile(r"\d+(?= rules judged| in preview| of \d+ rules)|(?<= of )\d+(?= rules judged)")
"""Counts of rules, which every new rule changes."""
RULES = ("--select", "CTX001,CTX011,PAR001,PAR002,PAR003,PAR008")
"""The rules that are asked about launches, so that none that comes changes their snapshots."""


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed(meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fixture, verb, *words = CASES[name]
    shutil.copy(FIXTURES / fixture, tmp_path)
    monkeypatch.chdir(tmp_path)
    run = meshlint(verb, "--isolated", *PINS, *words, Path(fixture).name)
    _compare(name, f"status {run.status}\n{run.out}{run.err}")


@pytest.mark.parametrize("name", LAUNCHES)
def test_what_is_printed_of_launches(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shutil.copytree(HERE / "launches", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    verb, *words = LAUNCHES[name]
    run = meshlint(verb, "--isolated", *PINS, *RULES, *words)
    _compare(name, f"status {run.status}\n{run.out}{run.err}")


def _compare(name: str, text: str) -> None:
    printed = _COUNTS.sub("N", text.replace(__version__, "VERSION"))
    golden = HERE / f"{name}.txt"
    if os.environ.get("MESHLINT_REGENERATE") == "1":
        golden.write_text(printed, "utf-8")
    assert golden.read_text("utf-8") == printed
