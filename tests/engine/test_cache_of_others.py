"""A cache folder that others can write to: what they may have written is not read, and nothing of ours is lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.engine.cache import keep, kept_bytes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and owners of files")

NAME = "0" * 40
GATED = "import torch.distributed as dist\n\n\ndef f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"
MANY = 1 << 20


def _writable_by_all(entry: Path) -> None:
    entry.chmod(0o666)


def _writable_by_the_group(entry: Path) -> None:
    entry.chmod(0o620)


def _a_link(entry: Path) -> None:
    entry.replace(entry.with_suffix(".other"))
    entry.symlink_to(entry.with_suffix(".other"))


def _a_pipe(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def _a_folder(entry: Path) -> None:
    entry.unlink()
    entry.mkdir()


@pytest.mark.parametrize("change", [_writable_by_all, _writable_by_the_group, _a_link, _a_pipe, _a_folder])
def test_what_others_may_have_written_is_not_read(
    change: Callable[[Path], None], meshlint: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(GATED)
    words = ("check", "--preview", "--isolated", "--format", "concise", tmp_path / "a.py")
    first = meshlint(*words)
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "meshlint"
    entries = [entry for entry in sorted(folder.iterdir()) if entry.suffix in (".json", ".facts", ".verdicts")]
    assert {entry.suffix for entry in entries} == {".json", ".facts", ".verdicts"}
    for entry in entries:
        change(entry)
        assert _read(entry) == b""
    assert meshlint(*words) == first


def _read(entry: Path) -> bytes:
    try:
        return kept_bytes(entry, MANY)
    except OSError:
        return b""


def test_what_is_kept_is_ours_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keep(tmp_path / "new" / f"{NAME}.json", b"kept", 1)
    finally:
        os.umask(before)
    entry = tmp_path / "new" / f"{NAME}.json"
    assert (entry.stat().st_mode & 0o777, entry.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert kept_bytes(entry, MANY) == b"kept"
    assert kept_bytes(entry, 3) == b""


def test_a_link_in_the_place_of_a_draft_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / f"{NAME}.{os.getpid()}.new").symlink_to(tmp_path / "precious")
    keep(tmp_path / f"{NAME}.json", b"kept", 1)
    assert (tmp_path / "precious").read_text() == "mine"
    assert sorted(one.name for one in tmp_path.iterdir()) == [f"{NAME}.json", "precious"]


def test_a_draft_that_is_cut_off_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        keep(tmp_path / f"{NAME}.json", b"kept", 1)
    assert [one.name for one in tmp_path.iterdir()] == [f"{NAME}.json"]
