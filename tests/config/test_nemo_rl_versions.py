"""NeMo-RL's own version: a checkout says it, and without one every supported release is judged."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import CommandLine

FIXTURE = Path(__file__).parents[2] / "fixtures" / "PKD005" / "bad" / "nemo_rl.yaml"
PACKAGE = 'MAJOR = 0\nMINOR = 6\nPATCH = 0\nPRE_RELEASE = ""\n'


def judged(meshlint: CommandLine, folder: Path) -> list[tuple[str, str, dict[str, str]]]:
    found = json.loads(meshlint("check", folder, "--isolated", "--no-cache", "--format", "json").out)["findings"]
    return [(f["code"], f["severity"], f["versions"]) for f in found if f["code"] == "PKD005"]


def test_a_checkout_says_its_version(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "nemo_rl").mkdir()
    (tmp_path / "nemo_rl" / "package_info.py").write_text(PACKAGE)
    (tmp_path / "run.yaml").write_text(FIXTURE.read_text())
    assert judged(meshlint, tmp_path) == [("PKD005", "error", {"nemo-rl": "0.6.0"})]


def test_without_a_pin_every_release_is_judged(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(FIXTURE.read_text())
    assert [(code, severity) for code, severity, _ in judged(meshlint, tmp_path)] == [("PKD005", "warning")]


def test_why_speaks_where_a_habit_hangs_on_a_version(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(FIXTURE.read_text())
    run = meshlint("config", tmp_path / "run.yaml", "--why", "PKD005")
    assert run.status == 0
    assert "pads_each_sequence_to" in run.out
