"""The tables of keys are made from wheels, without importing them, with windows that err on the quiet side."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from meshlint.config.keys import generate, nearest

SOURCE = generate.Source("tiny", ("tiny/*.py",), ("annotated", "flags"), "1.0.2 1.1.1 1.2.0", distribution="tiny")


def wheel(folder: Path, version: str, text: str) -> None:
    with zipfile.ZipFile(folder / f"tiny-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr("tiny/config.py", text)
        archive.writestr("other/config.py", "class Other:\n    away: int = 1\n")


def test_windows_follow_the_wheels(tmp_path: Path) -> None:
    wheel(tmp_path, "1.0.2", "raise SystemExit\nclass C:\n    stays: int = 1\n    goes: int = 1\n")
    wheel(tmp_path, "1.1.1", "class C:\n    stays: int = 1\n    comes: int = 1\n")
    wheel(tmp_path, "1.2.0", "class C:\n    stays: int = 1\n    comes: int = 1\nparser.add_argument('--a-flag')\n")
    rows = generate.table(SOURCE, tmp_path, {}).splitlines()
    assert rows[0].endswith("from 1.0.2 (wheel), 1.1.1 (wheel), 1.2.0 (wheel)")
    assert rows[1:] == ["a_flag\t1.2", "comes\t1.1", "goes\t\t1.1.1", "stays"]


def test_a_wheel_that_is_away_is_told(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"tiny 1\.0\.2"):
        generate.table(SOURCE, tmp_path, {})


def test_dimensions_are_no_misspellings_of_each_other() -> None:
    assert nearest("mi_nlr", ("megatron-lm",)) == "min_lr"
    assert nearest("ep_size", ("roll", "megatron-core")) == ""
