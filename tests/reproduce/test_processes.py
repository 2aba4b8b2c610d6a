"""Whatever happens to a run, its processes end and nothing is left: a killed rank, Ctrl-C, a full disk."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_cases import TORCH, needs_torch

from conftest import CommandLine
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.run import Runner

DIES = "import os, signal\nif rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\ndist.barrier()"
FOREVER = "while True:\n    pass"
PLAIN = "dist.barrier()"
LATE = "x = torch.ones(1)\nif rank == 0:\n    work = dist.all_reduce(x, async_op=True)\n    work.wait()"


def one(failing: Arm, right: str = PLAIN) -> Reproducer:
    return Reproducer("ABC001", (Case("one", "one", 2, failing, fixed(right)),))


def until(done: Callable[[], bool], seconds: float = 120) -> bool:
    """Ask again and again, without a pause, since whoever is waited for may be slow to start."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
    return True


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@needs_torch
def test_a_rank_that_is_killed_is_a_crash_and_the_next_arm_runs() -> None:
    with Runner(python=TORCH) as runner:
        verdict = runner.run(one(Arm(DIES, Happens.CRASH, error="SIGKILL")), Depth.CPU)
        assert verdict.shown
        late = runner.run(one(Arm(LATE, Happens.HANG)), Depth.CPU)  # the wait for a handle is a wait too
        assert [(wait.rank, wait.line, wait.whom) for wait in late.cases[0].arms[0].waits] == [(0, 4, (1,))]
        assert runner._worker is not None
        group = runner._worker.process.pid
        assert alive(group)
    assert until(lambda: not alive(group))


@needs_torch
def test_an_arm_that_never_ends_is_ended_and_is_no_hang() -> None:
    with Runner(python=TORCH, timeout=6) as runner:
        verdict = runner.run(one(Arm(FOREVER, Happens.HANG)), Depth.CPU)
        assert not verdict.shown
        assert "was still at work after" in verdict.cases[0].arms[0].why
        assert verdict.cases[0].arms[1].happened is Happens.OK
        assert runner._worker is not None
        group = runner._worker.process.pid
    assert until(lambda: not alive(group))


@needs_torch
def test_a_worker_that_is_killed_is_told_of_and_replaced() -> None:
    with Runner(python=TORCH) as runner:
        assert runner.run(one(Arm(PLAIN, Happens.OK)), Depth.CPU).shown
        assert runner._worker is not None
        os.kill(runner._worker.process.pid, signal.SIGKILL)
        verdict = runner.run(one(Arm(PLAIN, Happens.OK)), Depth.CPU)
        assert not verdict.shown
        assert "has ended" in verdict.why
        assert runner.run(one(Arm(PLAIN, Happens.OK)), Depth.CPU).shown


@needs_torch
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_a_run_that_is_stopped(how: signal.Signals, tmp_path: Path) -> None:
    words = ["reproduce", "COL003", "--depth", "cpu", *(["--python", TORCH] if TORCH else [])]
    process = subprocess.Popen(
        [sys.executable, "-m", "meshlint", *words],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    assert until(lambda: any(tmp_path.glob("meshlint-*/meshlint-*/*")))
    process.send_signal(how)
    status = process.wait(60)
    assert status == (130 if how is signal.SIGINT else -how)
    assert until(lambda: not list(tmp_path.iterdir()))


def test_a_full_disk_is_told_of(monkeypatch: pytest.MonkeyPatch, meshlint: CommandLine, tmp_path: Path) -> None:
    def full(*words: Any, **more: Any) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    run = meshlint("reproduce", "COL001", "--depth", "cpu", "--python", sys.executable)
    assert run.status == 1
    assert "No space left on device" in run.out

    monkeypatch.setattr(Path, "replace", full)
    run = meshlint("reproduce", "COL001", "--write", tmp_path / "repro.py")
    assert run.status == 2
    assert "No space left on device" in run.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("says", ["exec cat", "read x; echo []", "read x; echo {}", "read x; echo x"])
def test_a_program_that_answers_otherwise_is_told_of(says: str, meshlint: CommandLine, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    run = meshlint("reproduce", "COL001", "--depth", "cpu", "--python", program)
    assert run.status == 1
    assert "does not answer as a Python with torch does" in run.out


def test_a_program_that_is_no_python_with_torch_is_told_of(meshlint: CommandLine, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n")
    program.chmod(0o755)
    run = meshlint("reproduce", "COL001", "--depth", "cpu", "--python", program)
    assert run.status == 1
    assert "its Python has no torch" in run.out
