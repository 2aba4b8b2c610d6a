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


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed(meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fixture, verb, *words = CASES[name]
    shutil.copy(FIXTURES / fixture, tmp_path)
    monkeypatch.chdir(tmp_path)
    run = meshlint(verb, "--isolated", *PINS, *words, Path(fixture).name)
    printed = f"status {run.status}\n{run.out}{run.err}".replace(__version__, "VERSION")
    printed = _COUNTS.sub("N", printed)
    golden = HERE / f"{name}.txt"
    if os.environ.get("MESHLINT_REGENERATE") == "1":
        golden.write_text(printed, "utf-8")
    assert golden.read_text("utf-8") == printed
