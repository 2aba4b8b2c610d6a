"""NeMo-RL's own version: a checkout says it, and without one every supported release is judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("version", "bridge", "core"),
    [
        ("0.3.1", None, "0.13.1 to 0.13.1"),
        ("0.4.0", "0.1 to 0.1", "0.15.3 to 0.15.3"),
        ("0.5.0", "0.3.1 to 0.3.1", "0.16.1 to 0.16.1"),
        ("0.6.0", "0.5.1 to 0.6.2", "0.18.2 to 0.19.2"),
    ],
)
def test_a_release_brings_its_bridge_and_its_core_along(
    meshlint: CommandLine, tmp_path: Path, version: str, bridge: str | None, core: str
) -> None:
    (tmp_path / "run.yaml").write_text(FIXTURE.read_text())
    words = ("config", "--isolated", "--json", "--pin", f"nemo-rl={version}", tmp_path / "run.yaml")
    (launch,) = json.loads(meshlint(*words).out)["launches"]
    shown = {
        library: f"{one['candidates'][0]} to {one['candidates'][-1]}" if one["pin"] else None
        for library, one in launch["versions"].items()
    }
    assert (shown["megatron-bridge"], shown["megatron-core"]) == (bridge, core)
    assert "brings along" in " ".join(launch["versions"]["megatron-core"]["pin"]["notes"])


def test_a_pin_goes_before_what_is_brought_along(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(FIXTURE.read_text())
    pins = ("--pin", "nemo-rl=0.6.0", "--pin", "megatron-core=0.16.1")
    (launch,) = json.loads(meshlint("config", "--isolated", "--json", *pins, tmp_path / "run.yaml").out)["launches"]
    assert launch["versions"]["megatron-core"]["candidates"] == ["0.16.1"]


def test_without_a_pin_every_release_is_judged(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(FIXTURE.read_text())
    assert [(code, severity) for code, severity, _ in judged(meshlint, tmp_path)] == [("PKD005", "warning")]


def test_why_speaks_where_a_habit_hangs_on_a_version(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(FIXTURE.read_text())
    run = meshlint("config", tmp_path / "run.yaml", "--why", "PKD005")
    assert run.status == 0
    assert "pads_each_sequence_to" in run.out
