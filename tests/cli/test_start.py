"""What a check of one small file loads: the start is most of its time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ONE = Path(__file__).parents[2] / "fixtures" / "HCP001" / "bad" / "nemo_rl.yaml"
HEAVY = (
    *(
        f"meshlint.protocol.{name}."
        for name in ("walk", "summary", "verdict", "program", "link", "values", "statements")
    ),
    "meshlint.reproduce.",
    "meshlint.review.",
    "meshlint.mesh.simulate",
    "meshlint.config.python.program.",
    "meshlint.sources.shell.",
    "tree_sitter",
    "pathspec",
    "libcst",
    "hydra",
    "omegaconf",
    "importlib.metadata",
    "asyncio",
    "multiprocessing",
)
LOADS = """
import sys
from meshlint.cli.main import run
run(sys.argv[1:])
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--version"], ["check", "--no-cache", "one.yaml"]])
def test_nothing_heavy_is_loaded_for_one_small_file(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE.read_text())
    done = subprocess.run(
        [sys.executable, "-c", LOADS, *words], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    loaded = done.stderr.split()
    assert "meshlint.cli.main" in loaded
    assert [name for name in loaded if f"{name}.".startswith(HEAVY)] == []
