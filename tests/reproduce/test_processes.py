"""Whatever happens to a run, its processes end and nothing is left: a killed rank, Ctrl-C, a full disk."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_cases import TORCH, needs_torch

from conftest import CommandLine
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.run import TIMEOUT, Runner

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
def test_a_worker_that_is_killed_is_told_of_and_replaced() -> None:
    with Runner(python=TORCH) as runner:
        assert runner.run(one(Arm(PLAIN, Happens.OK)), Depth.CPU).shown
        assert runner._worker is not None
        os.kill(runner._worker.process.pid, signal.SIGKILL)
        verdict = runner.run(one(Arm(PLAIN, Happens.OK)), Depth.CPU)
        assert not verdict.shown
        assert "has ended" in verdict.why
        assert runner.run(one(Arm(PLAIN, Happens.OK)), Depth.CPU).shown


SAYS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


def stopped(python: str, how: signal.Signals, tmp_path: Path, ready: Callable[[], bool]) -> None:
    """Send a run a signal once it is ready; it must say so, and leave neither a file nor a process."""
    words = ["reproduce", "COL003", "--depth", "cpu", *(["--python", python] if python else [])]
    process = subprocess.Popen(
        [sys.executable, "-m", "meshlint", *words],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in SAYS],  # jobs in the background ignore some
        start_new_session=True,
    )
    assert until(ready)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (128 + how if how in SAYS else -how)
    assert said.decode().strip() == (f"meshlint: stopped by {SAYS[how]}" if how in SAYS else "")
    assert until(lambda: not list(tmp_path.iterdir()))


@needs_torch
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_a_run_that_is_stopped(how: signal.Signals, tmp_path: Path) -> None:
    stopped(TORCH, how, tmp_path, lambda: any(tmp_path.glob("meshlint-*/meshlint-*/*")))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_an_import_of_torch_that_never_ends_is_ended_with_the_run(how: signal.Signals, tmp_path: Path) -> None:
    said, room = tmp_path / "pid", tmp_path / "room"
    room.mkdir()
    python = fake(
        tmp_path, f"import os, time\nopen({str(said)!r}, 'w').write(f'{{os.getpid()}}.')\nwhile 1: time.sleep(9)"
    )
    stopped(str(python), how, room, lambda: said.exists() and said.read_text().endswith("."))
    assert until(lambda: not alive(int(said.read_text()[:-1])))


def fake(folder: Path, text: str) -> Path:
    """Make a Python whose torch is a text."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "raise RuntimeError('libx.so: cannot open\\nshared object')",
            "RuntimeError: libx.so: cannot open shared object",
        ),
        ("raise SystemExit(0)", "torch cannot be imported: SystemExit: 0"),
        ("import os; os.abort()", "has ended, by SIGABRT"),
        ("import os; os.kill(os.getpid(), 9)", "has ended, by SIGKILL"),
        ("import os; os._exit(0)", "has ended, with status 0"),
        ("__version__ = '1.4.0'", "torch 1.4.0 is too old or broken"),
        ("print('\\x1b[31m')\nraise ValueError('\\x1b[31mred')", "\\x1b[31mred"),
    ],
)
def test_a_torch_that_cannot_be_imported_is_told_of(
    text: str, says: str, meshlint: CommandLine, tmp_path: Path
) -> None:
    run = meshlint("reproduce", "COL001", "--depth", "cpu", "--python", fake(tmp_path, text))
    assert (run.status, says in run.out, "\x1b" in run.out) == (1, True, False)


CLUSTER = {"GLOO_SOCKET_IFNAME": "ib7", "GLOO_DEVICE_TRANSPORT": "x", "MASTER_PORT": "1", "RANK": "7"}
"""Settings of a cluster's network and of a job: all ranks of an arm are here."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """Give one that is started under such settings."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CLUSTER.items():
            patch.setenv(name, value)
        with Runner(python=TORCH, modules=()) as runner:
            runner.run(one(Arm(PLAIN, Happens.OK)), Depth.CPU)
            yield runner


@needs_torch
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", "the process of rank 1 was stopped"),
        ("raise MemoryError", "rank 1 failed for a reason outside of it: MemoryError"),
        ("raise OSError(24, os.strerror(24))", "Too many open files"),
        ("import no_such_module", "No module named"),
    ],
)
def test_what_comes_from_outside_shows_nothing(text: str, says: str, runner: Runner) -> None:
    failing = f"import os, signal\nif rank == 1:\n    {text}\ndist.barrier()"
    (shown,) = runner.run(one(Arm(failing, Happens.CRASH)), Depth.CPU).cases
    assert (shown.arms[0].happened, says in shown.arms[0].why) == (None, True)
    assert shown.arms[1].happened is Happens.OK


@needs_torch
def test_ranks_that_go_on_for_ever_do_not_hang(runner: Runner) -> None:
    runner.timeout = 1.0
    endless = runner.run(one(Arm("while True:\n    dist.barrier()", Happens.HANG)), Depth.CPU)
    alone = runner.run(one(Arm(FOREVER, Happens.HANG)), Depth.CPU)
    runner.timeout = TIMEOUT
    arm, other = endless.cases[0].arms[0], alone.cases[0].arms[0]
    assert (arm.happened, other.happened, alone.cases[0].arms[1].happened) == (None, None, Happens.OK)
    assert "--timeout gives them longer" in arm.why or "was still at work" in arm.why
    assert "was still at work after" in other.why


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
