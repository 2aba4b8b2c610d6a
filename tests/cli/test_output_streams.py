"""Output that cannot be written, streams that are closed, and text that would command a terminal or a CI runner."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 120.0
LAUNCH = "torchrun --nproc_per_node 4 pretrain_gpt.py --context-parallel-size 4 --cp-comm-type a2a+p2p\n"
FULL = Path("/dev/full")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `$MESHLINT ...` as a shell does, with its redirections."""
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "MESHLINT": f"{sys.executable} -m meshlint", "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.sh").write_text(LAUNCH)
    return tmp_path


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["check run.sh", "check run.sh --format json", "config run.sh", "rules", "--version"])
def test_a_full_disk_is_told_in_one_sentence(folder: Path, words: str) -> None:
    done = shell(f"$MESHLINT {words} > /dev/full", folder)
    assert done.returncode == 2
    assert done.stderr == "meshlint: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("$MESHLINT check run.sh >&-", 1),
        ("$MESHLINT check run.sh 2>&-", 1),
        ("$MESHLINT check run.sh <&- >&- 2>&-", 1),
        ("$MESHLINT check nothing 2>&-", 2),
    ],
)
def test_closed_streams_change_no_status(folder: Path, command: str, status: int) -> None:
    done = shell(command, folder)
    assert done.returncode == status
    assert "internal error" not in done.stderr


def test_an_error_about_settings_does_not_act(folder: Path) -> None:
    (folder / "meshlint.toml").write_text('"\\u001b[31m\\n::error::x" = 1\n')
    done = shell("$MESHLINT check", folder)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert not any(line.lstrip().startswith("::") for line in done.stderr.splitlines())
    assert "\\x1b[31m\\x0a::error::x" in done.stderr


@pytest.mark.parametrize("form", ["full", "concise"])
def test_names_and_values_do_not_act_in_text(folder: Path, form: str) -> None:
    name = "::error file=x::y.sh"
    (folder / name).write_text(LAUNCH)
    (folder / "##[error]z.sh").write_text(LAUNCH)
    (folder / "model_config.yaml").write_text(
        'MODEL_ARGS:\n  --context-parallel-size: 4\n  --cp-comm-type: "a2a+p2p\\n::error::y\\e[31m"\n'
    )
    done = shell(f"$MESHLINT check --format {form}", folder)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert not any(line.lstrip().startswith("::") for line in done.stdout.splitlines())
    assert "##[" not in done.stdout
    assert "error file=x::y.sh" in done.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"world-size = 0x{'f' * 5000}\n", "`world-size` must be a whole number from 1 to 2147483647"),
        (f"[versions]\nmegatron-core = '{'9' * 5000}'\n", "for megatron-core"),
        (f"exclude = ['{'a*' * 50}b']\n", ""),
        ("exclude = ['**/a/**/b/**/c']\n", "too many `**`"),
    ],
)
def test_settings_made_to_hurt_end_with_a_word(folder: Path, text: str, told: str) -> None:
    (folder / "meshlint.toml").write_text(text)
    (folder / ("a" * 200 + ".sh")).write_text(LAUNCH)
    done = shell("$MESHLINT check", folder)
    assert done.returncode == (2 if told else 1)
    assert told in " ".join(done.stderr.split())
