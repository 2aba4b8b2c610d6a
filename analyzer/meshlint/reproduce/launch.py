"""Starts the worker, hands it arms and takes its answers; whatever happens, every process of it is ended."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from meshlint.reproduce.facts import ArmFacts, from_json

WORKER = Path(__file__).with_name("worker.py")
START_SECONDS = 180.0
"""How long the import of torch may take, on a machine that is busy."""

QUIET = {"cpu": 1.0, "cuda": 2.0}
"""Seconds without a step after which ranks count as stuck, where some rank that they wait for can never come."""

PATIENCE = {"cpu": 5.0, "cuda": 8.0}
"""Seconds without a step after which ranks count as stuck although all of them have come."""

MOST = 64 << 20
"""Bytes of the longest answer."""

STRANGE = "the program that --python names does not answer as a Python with torch does"

SHARED = 5.0
"""How many times slower ranks may be that share a GPU."""


class CannotRun(Exception):  # noqa: N818 - shown as one sentence
    """This machine cannot run an arm; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the Python with torch has: versions of libraries, names of GPUs."""

    python: str
    versions: Mapping[str, str] = field(default_factory=dict)
    cards: tuple[str, ...] = ()
    gloo: bool = False


@dataclass(slots=True)
class Worker:
    """A running worker."""

    process: subprocess.Popen[bytes]
    machine: Machine
    said: Path
    waiting: bytes = b""
    place: str = ""

    def run(
        self, arms: Sequence[Mapping[str, Any]], world: int, device: str, timeout: float, share: bool = False
    ) -> Iterator[tuple[int, ArmFacts]]:
        """Run arms in order, each on `world` ranks of `device` (`cpu` or `cuda`); gives (place, facts) as they end.

        `share`: ranks may share a GPU.
        """
        backend = "nccl" if device == "cuda" else "gloo"
        slow = SHARED if share else 1.0
        job = {
            "arms": list(arms), "world": world, "device": device, "backend": backend, "timeout": timeout,
            "quiet": QUIET[device] * slow, "patience": min(PATIENCE[device] * slow, timeout / 2), "share": share,
        }  # fmt: skip
        self.send(job)
        for place in range(len(arms)):
            answer = self.answer(timeout + START_SECONDS)
            yield place, from_json(answer)

    def send(self, data: Any) -> None:
        """Give the worker a line."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write((json.dumps(data) + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            raise CannotRun(self.ended()) from None

    def ended(self) -> str:
        """Say how the process ended, with the last line that it said."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        how = self.process.returncode
        name = next((one.name for one in signal.Signals if how is not None and one == -how), "")
        by = f", by {name}" if name else f", with status {how}" if how == 0 else ""
        return f"the process that runs the ranks has ended{by}{_last(self.said)}"

    def answer(self, seconds: float) -> dict[str, Any]:
        """Take a line; raises CannotRun where none comes in time."""
        assert self.process.stdout is not None
        end = monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.waiting:
                if not selector.select(max(0.0, end - monotonic())):
                    at = "" if self.machine.versions else ", in which it imports torch"
                    raise CannotRun(f"the process that runs the ranks gave no answer in {seconds:.0f} seconds{at}")
                data = os.read(self.process.stdout.fileno(), 1 << 16)
                if not data:
                    raise CannotRun(self.ended())
                self.waiting += data
                if len(self.waiting) > MOST:
                    raise CannotRun(STRANGE)
        line, _, self.waiting = self.waiting.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            raise CannotRun(STRANGE) from None
        if not isinstance(answer, dict):
            raise CannotRun(STRANGE)
        if "fault" in answer:
            raise CannotRun(str(answer["fault"]))
        return answer

    def end(self) -> None:
        """End the worker and every process that it started."""
        if self.process.poll() is None:
            with suppress(OSError):
                assert self.process.stdin is not None
                self.process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def python_with_torch(asked: str = "") -> str:
    """Give the Python that runs the ranks: the one asked for, else this one; raises CannotRun without torch."""
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise CannotRun(f"there is no program `{asked}`")
        return found
    if find_spec("torch") is None:
        raise CannotRun(
            "this Python has no torch: name the Python that you train with by --python, or install meshlint with its "
            "extra `reproduce`; --depth simulate needs neither"
        )
    return sys.executable


@contextmanager
def worker(python: str, modules: Sequence[str] = ()) -> Iterator[Worker]:
    """Start a worker; `modules` are those whose versions are asked for. Ends every process of it on the way out."""
    try:
        folder = tempfile.mkdtemp(prefix="meshlint-")
    except OSError as error:
        raise CannotRun(f"there is no room for a temporary folder: {error.strerror}") from None
    started: Worker | None = None
    try:
        started = _started(python, Path(folder))
        started.send({"modules": list(modules)})
        first = started.answer(START_SECONDS)
        if not {"versions", "cards", "gloo"} <= first.keys():
            raise CannotRun(STRANGE)
        started.machine = Machine(python, first["versions"], tuple(first["cards"]), bool(first["gloo"]))
        yield started
    finally:
        if started is not None:
            started.end()
        shutil.rmtree(folder, ignore_errors=True)


def _started(python: str, folder: Path) -> Worker:
    said = folder / "stderr"
    environment = {**os.environ, "TMPDIR": str(folder), "MESHLINT_FOLDER": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
    for name in ("GLOO_SOCKET_IFNAME", "GLOO_DEVICE_TRANSPORT"):  # of the cluster's network; all ranks are here
        environment.pop(name, None)
    if Path("/sys/class/net/lo").exists():
        environment["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        with said.open("wb") as errors:
            process = subprocess.Popen(
                [python, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
                cwd=None if _here() else folder,
            )
    except OSError as error:
        raise CannotRun(f"`{python}` cannot be started: {error.strerror}") from None
    return Worker(process, Machine(python), said)


def _here() -> bool:
    """Say whether the working folder is still there: some libraries cannot be loaded in one that was deleted."""
    try:
        return Path.cwd().is_dir()
    except OSError:
        return False


def _last(said: Path) -> str:
    """Give the last line of what a process said, as `: ...`."""
    try:
        lines = [line for line in said.read_text("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return ""
    if lines and "No module named 'torch'" in lines[-1]:
        return ": its Python has no torch"
    return f": {lines[-1].strip()[:200]}" if lines else ""
