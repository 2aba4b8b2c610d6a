"""The always-there corpus: what is found in released wheels of verl, megatron-bridge and megatron-core.

The wheels lie in the folder that MESHLINT_CORPUS names (`.ci/run` downloads them). The findings are a golden file;
`MESHLINT_REGENERATE=1` writes it anew.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from conftest import CommandLine

HERE = Path(__file__).parent
PINS = dict(line.split("==") for line in (HERE / "wheels.txt").read_text().split())


def wheel(name: str) -> Path:
    folder = os.environ.get("MESHLINT_CORPUS")
    if not folder:
        pytest.skip("MESHLINT_CORPUS names no folder of wheels")
    found = sorted(Path(folder).glob(f"{name.replace('-', '_')}-{PINS[name]}-*.whl"))
    if not found:
        pytest.skip(f"the wheel of {name} {PINS[name]} is not in {folder}")
    return found[0]


@pytest.mark.parametrize("name", sorted(PINS))
def test_findings_in_a_wheel_are_the_golden_ones(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with zipfile.ZipFile(wheel(name)) as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    pins = [word for library, version in PINS.items() for word in ("--pin", f"{library}={version}")]
    run = meshlint("check", "--isolated", "--no-cache", "--format", "json", *pins, ".")
    data = json.loads(run.out)
    found = [f"{f['code']} {f['severity']} {f['path']}:{f['line']}" for f in data["findings"]]
    lines = [f"{len(data['coverage'])} launches", *sorted(found)]
    golden = HERE / f"{name}.txt"
    if os.environ.get("MESHLINT_REGENERATE") == "1":
        golden.write_text("".join(f"{line}\n" for line in lines))
    assert run.status in (0, 1)
    assert golden.read_text().splitlines() == lines
