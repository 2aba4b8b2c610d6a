"""Runs arms with torch: a program of its own, of the standard library and torch alone, for whatever Python has torch.

It reads one JSON object a line from standard input (`{"arms": [{"text", "prelude"}], "world", "device", ...}`) and
answers with one line an arm. Every rank is a process of its own, forked after torch was imported; arms that end well
share their processes, the others are ended by force. It watches what each rank calls, so that a rank that waits is
known by its line and by whom it waits for. Its first process does nothing but end all of this where its standard input
ends, whatever the others are at: an import of torch may never come back.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.machinery
import importlib.util
import itertools
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

Job = Mapping[str, Any]
Fact = dict[str, Any]
Tell = Callable[[Fact], None]

ARM = "<arm>"
CALLS = (
    "all_reduce", "broadcast", "all_gather", "reduce", "all_gather_object", "broadcast_object_list", "barrier", "send",
    "recv", "reduce_scatter_tensor", "all_gather_into_tensor", "all_to_all_single", "all_to_all", "gather", "scatter",
    "gather_object", "scatter_object_list", "monitored_barrier",
)  # fmt: skip
INIT_SECONDS = 90
FOLDER = "MESHLINT_FOLDER"
"""The variable that names the folder of whoever started this: it may be killed, so that both clear it away."""
TICK = 0.05
STILL = 0.5
"""Seconds for which a process must be stopped to be told of as such: one that is held back now and then goes on."""


def die_with_parent() -> None:
    """Let the kernel end this process when the one that forked it is gone (Linux)."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


# -- one rank ------------------------------------------------------------------------------------------------------


class Recorder:
    """`torch.distributed` as an arm sees it: tells of each call on a group before and after it."""

    def __init__(self, dist: Any, rank: int, tell: Tell, sync: Callable[[], Any]) -> None:
        """Watch `dist`; `tell` takes facts, `sync` waits for the device."""
        self._dist, self._rank, self._tell, self._sync = dist, rank, tell, sync
        self._counts: dict[str, int] = {}
        self._numbers: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        """Give the attribute of torch.distributed, watched if it is a collective."""
        found = getattr(self._dist, name)
        if name == "new_group":
            return self._new_group
        return self._watched(name, found) if name in CALLS else found

    def _new_group(self, ranks: list[int] | None = None, **more: Any) -> Any:
        world = list(range(self._dist.get_world_size()))
        self._begin("new_group", None, world, str(list(ranks if ranks is not None else world)))
        made = self._dist.new_group(ranks, **more)
        self._numbers[id(made)] = len(self._numbers) + 1
        self._tell({"event": "return"})
        member = self._rank in (world if ranks is None else ranks)
        return made if member else None

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            group = more.get("group")
            peer = more.get("dst", more.get("src", args[1] if len(args) > 1 else None))
            everybody = self._dist.get_process_group_ranks(group or self._dist.group.WORLD)
            ranks = everybody
            if name == "send":
                ranks = [self._rank, peer]
            if name == "recv":
                ranks = [peer, self._rank]
            begun = self._begin(name, group, ranks, _shape(args))
            result = function(*args, **more)
            if not more.get("async_op"):
                self._sync()
            self._tell({"event": "return"})
            return Handle(result, begun, self._tell, self._sync) if more.get("async_op") and result else result

        return call

    def _begin(self, name: str, group: Any, ranks: list[int], detail: str) -> Fact:
        number = self._numbers.get(id(group), 0) if group is not None else 0
        lane = ">" if name in ("send", "recv") else ","
        key = f"{number}:{'new' if name == 'new_group' else lane.join(map(str, ranks))}"
        made = self._counts.get(key, 0)
        self._counts[key] = made + 1
        call = {"op": name, "line": arm_line(), "ranks": list(ranks), "number": made, "detail": detail, "group": key}
        self._tell({"event": "call", "call": call, "counts": dict(self._counts)})
        return call


class Handle:
    """The handle of a collective that was issued with `async_op=True`: its `wait` is watched as the call is."""

    def __init__(self, work: Any, call: Fact, tell: Tell, sync: Callable[[], Any]) -> None:
        """Watch `work`, which `call` began."""
        self._work, self._call, self._tell, self._sync = work, call, tell, sync

    def __getattr__(self, name: str) -> Any:
        """Give what the handle itself has."""
        return getattr(self._work, name)

    def wait(self, *args: Any, **more: Any) -> Any:
        """Wait, and tell of it."""
        self._tell({"event": "wait", "call": dict(self._call, line=arm_line())})
        done = self._work.wait(*args, **more)
        self._sync()
        self._tell({"event": "return"})
        return done


def _shape(args: tuple[Any, ...]) -> str:
    for value in args:
        if hasattr(value, "numel"):
            return f"{str(value.dtype).rpartition('.')[2]}[{value.numel()}]"
    return ""


def arm_line() -> int:
    """Give the line of the arm's text that is being run."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == ARM:
            return int(frame.f_lineno) - 1
        frame = frame.f_back
    return 0


def raised_line(error: BaseException) -> int:
    """Give the line of the arm's text at which an error came up."""
    line = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == ARM:
            line = (frame.lineno or 1) - 1
    return line


def sentence(error: BaseException) -> str:
    """Give an error as one line."""
    text = " ".join(str(error).split())
    return (f"{type(error).__name__}: {text}" if text else type(error).__name__)[:600]


def body(text: str) -> str:
    """Make a function of an arm's text; its lines are one further down."""
    return "def arm():\n" + "".join(f"    {line}\n" if line.strip() else "\n" for line in text.split("\n"))


def measure(value: Any, right: Any) -> tuple[float, str, str]:
    """Give the relative error and both values in brief."""
    import torch

    left = torch.as_tensor(value).detach().double().flatten().cpu()
    wanted = torch.as_tensor(right).detach().double().flatten().cpu()
    if left.numel() != wanted.numel():
        return float("inf"), brief(left), brief(wanted)
    norm, off = wanted.norm().item(), (left - wanted).norm().item()
    error = off / norm if norm else off
    at = (left - wanted).abs().argmax().item() if brief(left) == brief(wanted) and off else 0
    return (error if error == error else float("inf")), brief(left, at), brief(wanted, at)


def brief(flat: Any, at: int = 0) -> str:
    """Write four elements: the first, or those from one on where the first show no difference."""
    shown = ", ".join(f"{number:g}" for number in flat[at : at + 4].tolist())
    before, after = "..., " if at else "", ", ..." if flat.numel() > at + 4 else ""
    return shown if flat.numel() == 1 else f"[{before}{shown}{after}]"


def rank_main(rank: int, out: int, control: int) -> None:
    """Run arms as one rank, each after a line on `control`, and tell of them on `out`."""
    die_with_parent()
    sink = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(sink, stream)

    def tell(fact: Fact) -> None:
        data = (json.dumps(fact) + "\n").encode()
        while data:
            data = data[os.write(out, data) :]

    with os.fdopen(control, "rb") as lines:
        for line in lines:
            job = json.loads(line)
            run_arm(job, job["arm"], rank, tell)


def run_arm(job: Job, arm: Mapping[str, str], rank: int, tell: Tell) -> None:
    """Run one arm in a fresh default group."""
    import torch
    import torch.distributed as dist

    cuda = job["device"] == "cuda"
    try:
        if dist.is_initialized():  # only now: a rank that leaves early would be noticed by those that wait
            dist.destroy_process_group()
        torch.set_num_threads(1)
        os.environ.update(
            RANK=str(rank), WORLD_SIZE=str(job["world"]), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(job["world"])
        )
        card = rank % max(1, torch.cuda.device_count())
        if job.get("share"):  # NCCL takes ranks of one host on one GPU for a mistake, and those of two hosts for none
            os.environ["NCCL_HOSTID"] = f"rank-{rank}"
        if cuda:
            torch.cuda.set_device(card)
        torch.set_default_device(f"cuda:{card}" if cuda else "cpu")
        store = dist.FileStore(job["store"], job["world"])
        dist.init_process_group(
            job["backend"],
            store=store,
            rank=rank,
            world_size=job["world"],
            timeout=timedelta(seconds=INIT_SECONDS + job["timeout"]),  # no call ends before the watcher ends it
        )
        if cuda:
            dist.all_reduce(torch.zeros(1))
            torch.cuda.synchronize()
        # A rank is connected before the others are: one that ends early would fail theirs, not the arm.
        store.set(f"connected {rank}", "")
        store.wait([f"connected {one}" for one in range(job["world"])], timedelta(seconds=INIT_SECONDS))
    except Exception as error:
        tell({"event": "unstarted", "error": sentence(error)})
        return
    sync = torch.cuda.synchronize if cuda else (lambda: None)
    recorder = Recorder(dist, rank, tell, sync)

    def groups(lists: list[list[int]]) -> Any:
        mine = None
        for ranks in lists:
            made = recorder.new_group(list(ranks))
            mine = mine if made is None else made
        return mine

    def check(name: str, value: Any, right: Any) -> None:
        error, got, wanted = measure(value, right)
        fact = {"name": name, "value": got, "right": wanted, "error": error, "line": arm_line()}
        tell({"event": "check", "check": fact})

    space: dict[str, Any] = {
        "torch": torch, "dist": recorder, "rank": rank, "world": job["world"], "groups": groups, "check": check,
        "device": f"cuda:{card}" if cuda else "cpu",
    }  # fmt: skip
    tell({"event": "started"})
    try:
        exec(compile(arm.get("prelude", ""), "<prelude>", "exec"), space)
        exec(compile(body(arm["text"]), ARM, "exec"), space)
        space["arm"]()
        sync()
    except BaseException as error:
        tell({"event": "raised", "error": sentence(error), "line": raised_line(error)})
        return
    tell({"event": "finished"})


# -- all ranks -----------------------------------------------------------------------------------------------------


class Rank:
    """One rank as the watcher sees it."""

    def __init__(self, number: int, pid: int, out: int, control: int) -> None:
        """Take over a forked process."""
        self.number, self.pid, self.out, self.control = number, pid, out, control
        self.gone = False
        self.text = b""
        self.fresh()

    def fresh(self) -> None:
        """Forget the last arm."""
        self.state, self.error, self.line = "starting", "", 0
        self.began = False
        self.call: Fact | None = None
        self.counts: dict[str, int] = {}
        self.checks: list[Fact] = []

    def hear(self, fact: Fact) -> None:
        """Take in a fact."""
        event = fact["event"]
        if event == "call":
            self.state, self.call, self.counts = "waiting", fact["call"], fact["counts"]
        elif event == "wait":
            self.state, self.call = "waiting", fact["call"]
        elif event in ("return", "started"):
            self.state, self.call, self.began = "running", None, True
        elif event == "check":
            self.checks.append(fact["check"])
        else:
            self.state, self.error, self.line = event, fact.get("error", ""), fact.get("line", 0)

    def died(self) -> None:
        """Take note of the end of the process."""
        _, status = os.waitpid(self.pid, 0)
        self.gone = True
        if not self.over:
            how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {status >> 8}"
            self.error = f"the process was ended by {how}"
            self.line = self.call["line"] if self.call else 0
        self.state = "died"  # also of one that had ended well, whose processes are not used again

    @property
    def over(self) -> bool:
        """Say whether nothing more will come."""
        return self.state in ("finished", "raised", "unstarted", "died")

    def facts(self) -> Fact:
        """Give what is known of the rank."""
        state = "waiting" if self.state == "starting" else self.state
        return {
            "rank": self.number, "state": state, "call": self.call, "error": self.error, "line": self.line,
            "checks": self.checks, "counts": self.counts,
        }  # fmt: skip


def states(pid: int) -> set[str]:
    """Give the states of a process's threads (Linux; `t` counts as `T`), none where they cannot be known."""
    found = set()
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as stream:  # noqa: PTH123
                found.add(stream.read().rpartition(b")")[2].split()[0].decode().upper())
    return found


class Parent(Exception):  # noqa: N818 - no fault of the arms
    """The process that asked is gone."""


class Ranks:
    """A set of processes, one a rank."""

    def __init__(self, shape: tuple[int, str]) -> None:
        """Fork one process a rank."""
        self.shape = shape
        self.job: Job = {}
        self.ranks: list[Rank] = []
        for rank in range(shape[0]):
            self.ranks.append(self._fork(rank))

    def _fork(self, rank: int) -> Rank:
        read, write = os.pipe()
        control, order = os.pipe()
        pid = os.fork()
        if pid:
            os.close(write)
            os.close(control)
            return Rank(rank, pid, read, order)
        status = 1
        try:
            for other in self.ranks:
                os.close(other.out)
                os.close(other.control)
            os.close(read)
            os.close(order)
            rank_main(rank, write, control)
            status = 0
        finally:
            os._exit(status)

    def run(self, job: Job) -> tuple[Fact, bool]:
        """Run one arm; give its facts, and whether the processes can be used again."""
        self.job = job
        began = time.monotonic()
        text = (json.dumps({name: value for name, value in job.items() if name != "arms"}) + "\n").encode()
        for rank in self.ranks:
            rank.fresh()
            rest = text
            while rest:
                rest = rest[os.write(rank.control, rest) :]
        why = self._watch() or self._apart()
        seconds = round(time.monotonic() - began, 3)
        if why:
            return {"failure": why, "seconds": seconds}, False
        facts = {"ranks": [rank.facts() for rank in self.ranks], "seconds": seconds}
        ends = {rank.state for rank in self.ranks}
        usable = ends == {"finished"} or (ends == {"raised"} and bool(job["arm"].get("alike")))
        return facts, usable

    def _watch(self) -> str:
        """Listen until nothing more will come; say why what was seen until then shows nothing, if so."""
        began = heard = time.monotonic()
        still = 0
        while not all(rank.over for rank in self.ranks):
            streams = [rank.out for rank in self.ranks if rank.state != "died"]
            ready, _, _ = select.select([*streams, 0], [], [], TICK)
            if 0 in ready and not os.read(0, 1):
                raise Parent
            for rank in self.ranks:
                if rank.out in ready:
                    heard = time.monotonic()
                    self._read(rank)
            now = time.monotonic()
            starting = any(rank.state == "starting" for rank in self.ranks)
            if starting and (now - heard > INIT_SECONDS or any(rank.over and not rank.began for rank in self.ranks)):
                return ""
            stopped = self._stopped() if now - heard > STILL else ""
            still = still + 1 if stopped else 0
            if still * TICK > STILL:
                return stopped
            if not starting and not stopped and now - heard > self._patience() and self._asleep():
                return ""
            if now - began > self.job["timeout"] + INIT_SECONDS * starting:
                return self._stopped() or self._slow()
        return ""

    def _apart(self) -> str:
        """Say why the ranks did not come together, if so."""
        alone = [rank for rank in self.ranks if rank.over and not rank.began]
        if alone:
            return f"the ranks could not come together: {alone[0].error}"
        return "the ranks did not come together in time" if any(r.state == "starting" for r in self.ranks) else ""

    def _stopped(self) -> str:
        """Say which rank was stopped from outside: the others wait for it, and no fault of theirs."""
        for rank in self.ranks:
            if not rank.over and "T" in states(rank.pid):
                return f"the process of rank {rank.number} was stopped (SIGSTOP) from outside"
        return ""

    def _asleep(self) -> bool:
        """Say whether no rank is at work: one that waits for gloo sleeps, one that waits for NCCL may not."""
        if self.job["device"] == "cuda":
            return True
        return not any({"R", "D"} & states(rank.pid) for rank in self.ranks if not rank.over)

    def _slow(self) -> str:
        """Say that time ran out while ranks were on their way; a rank at work outside of a call is told of as such."""
        if any(rank.state in ("running", "starting") for rank in self.ranks):
            return ""
        seconds = self.job["timeout"]
        return f"the ranks still went from call to call after {seconds:.0f} s: --timeout gives them longer"

    def _patience(self) -> float:
        """Give how long nothing may happen: little where all that are left wait for somebody who can never come."""
        broken = any(rank.state in ("raised", "died") for rank in self.ranks)
        waiting = [rank for rank in self.ranks if not rank.over]
        stuck = all(rank.state == "waiting" and self._lonely(rank) for rank in waiting)
        if any(rank.state == "running" for rank in waiting):
            return float(self.job["timeout"])
        if stuck or broken:
            return float(self.job["quiet"]) * (1 if stuck else 2)
        return float(self.job["patience"])

    def _lonely(self, rank: Rank) -> bool:
        call = rank.call
        return call is not None and any(
            self.ranks[other].counts.get(call["group"], 0) <= call["number"] for other in call["ranks"]
        )

    def _read(self, rank: Rank) -> None:
        data = os.read(rank.out, 1 << 16)
        if not data:
            rank.died()
            return
        *lines, rank.text = (rank.text + data).split(b"\n")
        for line in lines:
            rank.hear(json.loads(line))

    def end(self) -> None:
        """End every process, and wait until each is gone."""
        alive = [rank for rank in self.ranks if not rank.gone]
        for rank in alive:
            os.kill(rank.pid, signal.SIGKILL)
        for rank in alive:
            os.waitpid(rank.pid, 0)
        for rank in self.ranks:
            for stream in (rank.out, rank.control):
                with contextlib.suppress(OSError):
                    os.close(stream)


class Sets:
    """Sets of processes, one at a time: what ended well is used again."""

    def __init__(self, folder: str) -> None:
        """Keep the files of the ranks in `folder`."""
        self.folder, self.numbers = folder, itertools.count()
        self.early = False  # import what arms need before the ranks are forked, which need not do it each
        self.ranks: Ranks | None = None

    def run(self, job: Job, answer: Tell) -> None:
        """Run the arms of a job in order."""
        shape = (job["world"], job["device"])
        needed = sorted({name for arm in job["arms"] for name in arm.get("needs", ())} - {*sys.modules})
        if self.early and needed:
            self.end()
            imported(needed)
        for number, arm in enumerate(job["arms"]):
            if self.ranks is not None and (arm.get("fresh") or self.ranks.shape != shape):
                self.end()
            if self.ranks is None:
                self.ranks = Ranks(shape)
            facts, usable = self.ranks.run(dict(job, arm=arm, store=f"{self.folder}/{next(self.numbers)}"))
            if not usable or arm.get("fresh"):
                self.end()
            answer(dict(facts, arm=number))

    def end(self) -> None:
        """End the processes there are."""
        if self.ranks is not None:
            self.ranks.end()
        self.ranks = None


def versions(modules: list[str]) -> dict[str, str]:
    """Give what there is, without touching a GPU."""
    import torch

    found = {"python": sys.version.split()[0], "torch": torch.__version__}
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
        with contextlib.suppress(Exception):
            found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    from importlib.metadata import PackageNotFoundError, version

    for name, said in there(modules).items():
        found[name] = said
        for package in (name.replace(".", "-"), name.replace("_", "-").replace(".", "-")):
            with contextlib.suppress(PackageNotFoundError):
                found[name] = version(package)
    return found


def there(modules: list[str]) -> dict[str, str]:
    """Give the modules that can be imported, which some can not although they are there, and the versions they tell.

    All are imported in one process, which takes half the time; each in its own where that process does not live.
    """
    names = [name for name in modules if lies(name)]
    if not names:
        return {}
    together = apart(lambda: imported(names))
    if together is not None:
        return dict(together)
    found: dict[str, str] = {}
    for name in names:
        found.update(apart(lambda one=name: imported([one])) or {})  # type: ignore[misc]
    return found


def imported(names: list[str]) -> dict[str, str]:
    """Import modules; give those that could be, with their versions."""
    found = {}
    for name in names:
        with contextlib.suppress(Exception):
            found[name] = str(getattr(importlib.import_module(name), "__version__", ""))
    return found


def lies(name: str) -> bool:
    """Say whether there is a module of a name, without importing what is above it, which could touch a GPU."""
    top, *below = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
        for depth in range(len(below)):
            if spec is None:
                return False
            inside = ".".join([top, *below[: depth + 1]])
            spec = importlib.machinery.PathFinder.find_spec(inside, spec.submodule_search_locations)
    except Exception:  # a name that is no module's
        return False
    return spec is not None


def cards() -> list[str]:
    """Name the GPUs."""

    def names() -> list[str]:
        import torch

        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return [torch.cuda.get_device_name(place) for place in range(there)]

    return apart(names) or []


def apart(ask: Callable[[], Any]) -> Any:
    """Ask in a process of its own, since a GPU that was touched cannot be used behind a fork; None where it fails."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            os.write(write, json.dumps(ask()).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else None


def main() -> int:
    """Watch over the process that answers: end it, and all that it started, where whoever asked is gone."""
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        die_with_parent()
        answering()
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    asking = select.poll()
    asking.register(0, 0)  # nothing but its end
    while True:
        left = bool(asking.poll(1000 * TICK))
        ended, status = os.waitpid(pid, os.WNOHANG)
        if left or ended:
            break
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    if left:
        if not ended:
            os.waitpid(pid, 0)
        shutil.rmtree(os.environ.get(FOLDER, ""), ignore_errors=True)
        return 0
    if os.WIFSIGNALED(status):  # end as it did, so that whoever asked can tell
        with contextlib.suppress(OSError):  # of SIGKILL, which has nothing else
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    return status >> 8


def answering() -> None:
    """Answer, and end."""
    status = 1
    try:
        status = answers()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(status)


def answers() -> int:
    """Answer jobs until standard input ends."""
    out = os.dup(1)
    os.dup2(2, 1)
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [place for place in sys.path if place != here]  # whose modules bear the names of others

    def answer(fact: Fact) -> None:
        os.write(out, (json.dumps(fact) + "\n").encode())

    try:
        gloo = has_gloo()
    except BaseException as error:
        none = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        answer({"fault": f"{sys.executable} has no torch" if none else f"torch cannot be imported: {sentence(error)}"})
        return 1
    folder = tempfile.mkdtemp(prefix="meshlint-")
    sets = Sets(folder)
    try:
        first = json.loads(read_line())
        gpus = cards()
        sets.early = not gpus  # an import may touch a GPU, which cannot be used behind a fork then
        answer({"versions": versions(first["modules"]), "cards": gpus, "gloo": gloo})
        while True:
            line = read_line()
            if not line:
                return 0
            try:
                sets.run(json.loads(line), answer)
            except OSError as error:
                answer({"fault": f"the ranks could not be started: {sentence(error)}"})
    except Parent:
        return 1
    finally:
        sets.end()
        shutil.rmtree(folder, ignore_errors=True)


def has_gloo() -> bool:
    """Import torch; say whether it has gloo. Raises whatever the import raises, and where it is too old."""
    import torch

    try:
        import torch.distributed as dist

        torch.set_num_threads(1)
        _ = torch.set_default_device
        return bool(dist.is_available() and dist.is_gloo_available())
    except (AttributeError, ImportError) as error:
        raise ImportError(
            f"torch {getattr(torch, '__version__', '')} is too old or broken ({sentence(error)})"
        ) from None


def read_line() -> bytes:
    """Read one line of standard input without a buffer, so that its end can be watched for."""
    text = b""
    while not text.endswith(b"\n"):
        data = os.read(0, 1)
        if not data:
            return b""
        text += data
    return text


if __name__ == "__main__":
    sys.exit(main())
