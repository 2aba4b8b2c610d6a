"""The line of progress: on a terminal only, for runs that last, gone at the end."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = (
    "import sys; import meshlint.cli.progress as p; p.PATIENCE = 0.0; "
    "from meshlint.cli.main import run; raise SystemExit(run(sys.argv[1:]))"
)


def on_a_terminal(folder: Path, code: str, *words: str) -> str:
    """Run with stderr on a pseudo-terminal; give what it showed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code, "check", "--no-cache", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        process.wait()
    os.close(ours)
    return shown.decode()


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    for number in range(5):
        (tmp_path / f"s{number}.sh").write_text("torchrun pretrain_gpt.py --context-parallel-size 2\n" * 20)
    return tmp_path


def test_a_run_that_lasts_shows_how_far_it_is_and_wipes_the_line(scripts: Path) -> None:
    shown = on_a_terminal(scripts, CHECK)
    assert " of 5: s" in shown
    assert shown.endswith("\r\x1b[K")


def test_a_short_run_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text("torchrun pretrain_gpt.py --context-parallel-size 2\n")
    assert " of " not in on_a_terminal(tmp_path, CHECK.replace("0.0", "1000.0"))


def test_nothing_is_shown_where_stderr_is_no_terminal(scripts: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHECK, "check", "--no-cache"], cwd=scripts, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
