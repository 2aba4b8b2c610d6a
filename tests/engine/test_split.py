"""Sharing out work changes nothing that is printed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.engine import split

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


@linux
def test_several_processes_say_what_one_says(
    meshlint: CommandLine, wrong_product: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(70):
        text = "a: [1\n" if number % 10 == 0 else "base: job.toy.yaml\n"
        (wrong_product / f"broken{number:02}.toy.yaml").write_text(text)
    runs = []
    for number in (1, 2, 3):
        monkeypatch.setattr(split, "workers", lambda items, number=number: number)
        runs.append(meshlint("check", "--no-cache", "--format", "json"))
    assert runs[0].out.count('"MSH003"') == 7
    assert runs[1:] == [runs[0], runs[0]]


@linux
def test_a_child_that_dies_loses_nothing() -> None:
    home = os.getpid()

    def work(part: Sequence[int], here: bool) -> list[int]:
        if os.getpid() != home:
            os._exit(1)
        return list(part)

    found = split.share(range(100), work, 3)
    assert sorted(item for part in found for item in part) == list(range(100))


@linux
def test_what_goes_wrong_in_a_child_is_shown_by_the_parent() -> None:
    def work(part: Sequence[int], here: bool) -> int:
        if not here:
            raise KeyError(part[0])
        return 1

    with pytest.raises(KeyError):
        split.share(range(100), work, 2)


def test_little_work_stays_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert split.workers(split.LEAST - 1) == 1
    monkeypatch.setenv("MESHLINT_WORKERS", "1")
    assert split.workers(10_000) == 1


@linux
def test_a_child_ends_with_the_parent_whatever_it_is_at() -> None:
    text = """
import os, sys, time
from meshlint.engine.split import share
def work(part, first):
    if first:
        while not (told := os.read(pid, 20)): pass
        print(told.decode(), flush=True)
        os.kill(os.getpid(), 9)
    os.write(tell, str(os.getpid()).encode())
    time.sleep(600)
pid, tell = os.pipe()
share([1, 2], work, 2, 1)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=60)
    assert done.returncode == -9
    end = time.monotonic() + 30
    while time.monotonic() < end and alive(int(done.stdout)):
        pass
    assert not alive(int(done.stdout))


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
