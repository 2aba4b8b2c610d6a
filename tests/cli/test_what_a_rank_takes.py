"""Traces say of an `if` what its own condition is, and messages name the line that ranks decide for themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine

HEAD = "import os\n\nimport torch.distributed as dist\n\n\ndef run(x, path):\n"
LEAVES = "    if dist.get_rank() != 0:\n        return\n    dist.barrier()\n"
ENTERS = "    if dist.get_rank() == 0:\n        dist.barrier()\n"
DENIED = "    if not dist.get_rank() == 0:\n        print(x)\n    else:\n        dist.barrier()\n"
OTHERWISE = "    if dist.get_rank() == 0:\n        dist.barrier()\n    else:\n        return\n"
FETCH = """    if dist.get_rank() == 0:
        if not os.path.exists(path):
            print(path)
            dist.barrier()
    else:
        dist.barrier()
"""


@pytest.mark.parametrize(
    ("body", "first"), [(LEAVES, "no"), (ENTERS, "yes"), (DENIED, "no"), (OTHERWISE, "yes")], ids=str
)
def test_a_trace_says_what_the_condition_is_as_it_is_written(
    meshlint: CommandLine, tmp_path: Path, body: str, first: str
) -> None:
    (tmp_path / "run.py").write_text(HEAD + body)
    text = meshlint("check", "--isolated", "--no-cache", "--select", "COL", tmp_path / "run.py").out
    [trace] = [line for line in text.splitlines() if line.startswith("  line 7: if")]
    left, right = (side.strip() for side in trace.split("|"))
    assert (left, right) == (f"line 7: if {first}", f"line 7: if {'no' if first == 'yes' else 'yes'}")


def test_an_info_names_the_line_that_ranks_decide_for_themselves(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(HEAD + FETCH)
    text = meshlint("check", "--isolated", "--no-cache", "--select", "COL", tmp_path / "run.py").out
    assert "may not be reached by all of its ranks: each decides line 8 for itself.\n" in text
    assert "  run.py:7:5  the gate that divides the ranks\n  7 | if dist.get_rank() == 0:\n" in text
    assert "  run.py:8:9  what each rank decides for itself\n  8 | if not os.path.exists(path):\n" in text
