"""Python that cannot be read is told where code is judged: nothing asked for is passed over in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

GATED = "import torch.distributed as dist\n\n\ndef f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"
BROKEN = {
    "syntax": GATED + "def g(:\n",
    "tabs": GATED + "def g():\n\tif 1:\n        pass\n",
    "a string without end": GATED + "x = '''\n",
    "nul": GATED + "\0\n",
    "depth": GATED + "x = " + "(" * 400 + "1" + ")" * 400 + "\n",
    "length": GATED + "#" * (1 << 20) + "\n",
}


def _told(meshlint: CommandLine, path: Path) -> list[tuple[str, str, str, int]]:
    run = meshlint("check", "--preview", "--isolated", "--no-cache", "--format", "json", path)
    found = json.loads(run.out)["findings"]
    return [(one["code"], one["severity"], Path(one["path"]).name, one["line"]) for one in found]


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_file_that_was_named_and_cannot_be_read_is_an_error(text: str, tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "a.py").write_text(text)
    assert [one[:3] for one in _told(meshlint, tmp_path / "a.py")] == [("MSH003", "error", "a.py")]


def test_in_a_folder_it_is_a_warning_and_the_other_files_are_judged(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "a.py").write_text(BROKEN["syntax"])
    (tmp_path / "b.py").write_text(GATED)
    found = _told(meshlint, tmp_path)
    assert found == [("MSH003", "warning", "a.py", 7), ("COL001", "error", "b.py", 6)]


def test_what_holds_no_collective_by_its_words_is_passed_over(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "a.py").write_text("print 'an old script'\n")
    assert _told(meshlint, tmp_path) == []


def test_without_rules_about_code_nobody_asks(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "a.py").write_text(BROKEN["syntax"])
    run = meshlint("check", "--isolated", "--no-cache", "--format", "concise", "--select", "HCP,MSH", tmp_path / "a.py")
    assert (run.status, run.out) == (0, "")
