"""Sharing out work changes nothing that is printed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
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
def test_every_item_goes_to_one_process_and_stays_with_its_neighbours() -> None:
    def work(taken: split.Taken[int], here: bool) -> list[int]:
        return list(taken)

    found = split.share(range(1003), work, 3, 10)
    assert sorted(item for part in found for item in part) == list(range(1003))
    for piece in (part[start : start + 10] for part in found for start in range(0, len(part), 10)):
        assert piece[0] % 10 == 0
        assert piece == list(range(piece[0], piece[0] + len(piece)))


@linux
def test_whoever_is_through_with_its_part_takes_of_another() -> None:
    told, tell = os.pipe()

    def work(taken: split.Taken[int], here: bool) -> list[int]:
        if here:
            os.read(told, 1)  # until the child has done what is its own, and all that was left of this one's
            return list(taken)
        found = list(taken)
        os.write(tell, b"x")
        return found

    assert split.share_parts([[1, 2, 3], [4, 5]], work) == [[], [4, 5, 1, 2, 3]]
    os.close(told)
    os.close(tell)


@linux
def test_more_items_than_a_pipe_holds_are_handed_out() -> None:
    def work(taken: split.Taken[int], here: bool) -> int:
        return sum(taken)

    assert sum(split.share(range(300_000), work, 2, 1)) == sum(range(300_000))


@linux
def test_a_child_that_dies_loses_nothing() -> None:
    home = os.getpid()

    def work(taken: split.Taken[int], here: bool) -> list[int]:
        if os.getpid() != home:
            next(iter(taken))
            os._exit(1)
        return [] if here else list(taken)

    assert split.share(range(100), work, 3) == [[], list(range(100))]


@linux
def test_what_goes_wrong_in_a_child_is_shown_by_the_parent() -> None:
    def work(taken: split.Taken[int], here: bool) -> int:
        if not here:
            raise KeyError(next(iter(taken)))
        return 1

    with pytest.raises(KeyError):
        split.share(range(100), work, 2)


@linux
def test_no_pipe_stays_open() -> None:
    def held() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = held()
    for _ in range(3):
        split.share(range(100), lambda taken, here: sum(taken), 3)
    assert held() == before


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
