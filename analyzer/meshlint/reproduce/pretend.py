"""Runs arms without torch: every rank runs the text against a pretended `torch.distributed`, one rank at a time.

A collective fires when every member of its instance has come to it, in the order of each rank's calls. The values are
moved for real, so that ranks that pair up wrongly get wrong numbers here too. Sides that meet with different
operations, roots, counts or types end in an error of their own, since backends differ there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from time import perf_counter
from types import SimpleNamespace
from typing import Any

from meshlint.reproduce.facts import ArmFacts, Call, Check, RankFacts

ARM = "<arm>"
"""The file name of an arm's text in frames."""

STACK = 256 * 1024


def body(text: str) -> str:
    """Make a function of an arm's text; its lines are one further down."""
    return "def arm():\n" + "".join(f"    {line}\n" if line.strip() else "\n" for line in text.split("\n"))


class Clash(Exception):  # noqa: N818 - what happens is the backend's
    """Both sides of one event differ."""


class _Stop(BaseException):
    """Ends the thread of a rank that waits for ever."""


@dataclass(slots=True, eq=False)
class Tensor:
    """A list of numbers with a type; what arms need of a tensor."""

    data: list[Any]
    dtype: str = "float32"

    def numel(self) -> int:
        """Count the elements."""
        return len(self.data)

    def item(self) -> Any:
        """Give the only element."""
        (value,) = self.data
        return value

    def tolist(self) -> list[Any]:
        """Give the elements."""
        return list(self.data)

    def sum(self) -> Tensor:
        """Add up."""
        return Tensor([sum(self.data)], self.dtype)

    def mean(self) -> Tensor:
        """Give the mean."""
        return Tensor([sum(self.data) / len(self.data)], self.dtype)

    def clone(self) -> Tensor:
        """Copy."""
        return Tensor(list(self.data), self.dtype)

    def fill_(self, value: Any) -> Tensor:
        """Set every element."""
        self.data[:] = [value] * len(self.data)
        return self

    def zero_(self) -> Tensor:
        """Set every element to zero."""
        return self.fill_(0)

    def copy_(self, other: Tensor) -> Tensor:
        """Take the elements of another."""
        self.data[:] = other.data
        return self

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __getitem__(self, at: Any) -> Tensor:
        got = self.data[at]
        return Tensor(got if isinstance(got, list) else [got], self.dtype)

    def __setitem__(self, at: Any, value: Any) -> None:
        self.data[at] = value.data if isinstance(value, Tensor) else value

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __add__(self, other: Any) -> Tensor:
        return self._with(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Tensor:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Tensor:
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tensor:
        return self._with(other, lambda a, b: a / b)

    def __iadd__(self, other: Any) -> Tensor:
        return self.copy_(self + other)

    def __imul__(self, other: Any) -> Tensor:
        return self.copy_(self * other)

    def __gt__(self, other: Any) -> bool:
        return bool(self.item() > other)

    def __lt__(self, other: Any) -> bool:
        return bool(self.item() < other)

    def __eq__(self, other: object) -> bool:
        return bool(self.data == (other.data if isinstance(other, Tensor) else [other]))

    def _with(self, other: Any, what: Callable[[Any, Any], Any]) -> Tensor:
        theirs = other.data if isinstance(other, Tensor) else [other] * len(self.data)
        return Tensor([what(a, b) for a, b in zip(self.data, theirs, strict=True)], self.dtype)


def _tensor(data: Any, dtype: str = "") -> Tensor:
    listed = list(data) if isinstance(data, (list, tuple, range)) else [data]
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in listed)
    return Tensor(listed, dtype or ("int64" if whole else "float32"))


def _torch() -> SimpleNamespace:
    def full(count: int | tuple[int], value: Any, dtype: str = "float32") -> Tensor:
        return Tensor([value] * (count[0] if isinstance(count, tuple) else count), dtype)

    return SimpleNamespace(
        tensor=_tensor,
        full=full,
        zeros=lambda count, dtype="float32": full(count, 0, dtype),
        ones=lambda count, dtype="float32": full(count, 1, dtype),
        empty=lambda count, dtype="float32": full(count, 0, dtype),
        arange=lambda *bounds, dtype="int64": Tensor(list(range(*bounds)), dtype),
        float32="float32",
        int64="int64",
        long="int64",
        int32="int32",
    )


@dataclass(frozen=True, slots=True)
class Group:
    """A process group; `number` is the place of its making."""

    ranks: tuple[int, ...]
    number: int


@dataclass(slots=True, eq=False)
class _Event:
    """One rank's part in an event: what it brings, and where the result goes."""

    call: Call
    root: int
    like: tuple[Any, ...]
    value: Any
    take: Callable[[list[Any]], None]
    done: bool = False
    failed: str = ""


class Work:
    """The handle of an operation that was issued with `async_op=True`."""

    def __init__(self, world: _World, rank: int, event: _Event) -> None:
        self._world, self._rank, self._event = world, rank, event

    def wait(self) -> None:
        """Block until the operation has matched."""
        self._world.block(self._rank, self._event)


@dataclass(slots=True)
class _World:
    """All ranks of one run."""

    size: int
    queues: dict[str, dict[int, list[_Event]]] = field(default_factory=dict)
    counts: list[dict[str, int]] = field(default_factory=list)
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    made: list[int] = field(default_factory=list)
    checks: list[list[Check]] = field(default_factory=list)
    waits: list[_Event | None] = field(default_factory=list)
    baton: list[threading.Semaphore] = field(default_factory=list)
    back: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    stopping: bool = False

    def __post_init__(self) -> None:
        """Make the place of every rank."""
        for _ in range(self.size):
            self.counts.append({})
            self.made.append(0)
            self.checks.append([])
            self.waits.append(None)
            self.baton.append(threading.Semaphore(0))

    def block(self, rank: int, event: _Event) -> None:
        """Let others run until an event has matched."""
        while not event.done:
            if event.failed:
                raise Clash(event.failed)
            self.waits[rank] = event
            self.back.release()
            self.baton[rank].acquire()
            if self.stopping:
                raise _Stop
        self.waits[rank] = None

    def issue(self, rank: int, event: _Event) -> None:
        """Put an event at the end of its rank's queue, and fire what is whole."""
        members = event.call.ranks
        queues = self.queues.setdefault(event.call.group, {member: [] for member in members})
        queues[rank].append(event)
        while all(queues.values()):
            heads = [queues[member][0] for member in members]
            if not self._fire(heads, members):
                return
            for member in members:
                queues[member].pop(0)

    def _fire(self, heads: list[_Event], ranks: Sequence[int]) -> bool:
        first = heads[0]
        for head in heads[1:]:
            if head.like != first.like:
                differ = f"{_said(first)} meets {_said(head)}"
                for each in heads:
                    each.failed = differ
                return False
        if first.root >= 0 and first.root not in ranks:
            for each in heads:
                each.failed = f"rank {first.root} is not part of the group {list(ranks)}"
            return False
        values = [head.value() for head in heads]
        for head in heads:
            head.take(values)
            head.done = True
        return True


def _said(event: _Event) -> str:
    detail = f" of {event.call.detail}" if event.call.detail else ""
    root = f" from rank {event.root}" if event.root >= 0 else ""
    return f"{event.call.op}{detail}{root} on line {event.call.line}"


def _line() -> int:
    """Give the line of the arm's text that is being run."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == ARM:
            return frame.f_lineno - 1
        frame = frame.f_back  # type: ignore[assignment]
    return 0


@dataclass(slots=True)
class Dist:
    """What one rank sees as `torch.distributed`."""

    world: _World
    rank: int
    ReduceOp: Any = field(default_factory=lambda: SimpleNamespace(SUM=sum, MAX=max, MIN=min))

    # -- who and where ------------------------------------------------------------------------------------------

    def get_rank(self, group: Group | None = None) -> int:
        """Give this rank's place in a group, -1 for a non-member."""
        ranks = self._of(group).ranks
        return ranks.index(self.rank) if self.rank in ranks else -1

    def get_world_size(self, group: Group | None = None) -> int:
        """Give the size of a group."""
        return len(self._of(group).ranks)

    def get_global_rank(self, group: Group, place: int) -> int:
        """Give the global rank of a place in a group."""
        return group.ranks[place]

    def get_process_group_ranks(self, group: Group | None) -> list[int]:
        """Give the ranks of a group."""
        return list(self._of(group).ranks)

    def is_initialized(self) -> bool:
        """Say that there are groups."""
        return True

    def new_group(self, ranks: Sequence[int] | None = None) -> Group | None:
        """Make a group: every rank of the world takes part, in the same order."""
        listed = tuple(range(self.world.size)) if ranks is None else tuple(ranks)
        if any(not 0 <= rank < self.world.size for rank in listed):
            raise ValueError(
                f"the ranks {list(listed)} of a new group are not all among the {self.world.size} there are"
            )
        self._event("new_group", self._of(None), ("new_group", listed), detail=str(list(listed)), lane="new")
        number = self.world.groups.setdefault((self.world.made[self.rank], *listed), len(self.world.groups) + 1)
        self.world.made[self.rank] += 1
        return Group(listed, number) if self.rank in listed else None

    # -- collectives ---------------------------------------------------------------------------------------------

    def all_reduce(self, tensor: Tensor, op: Any = sum, group: Any = None, async_op: bool = False) -> Work | None:
        """Reduce in place."""

        def take(values: list[Any]) -> None:
            tensor.data[:] = [op(column) for column in zip(*values, strict=True)]

        return self._tensor_event("all_reduce", tensor, group, take, async_op=async_op)

    def broadcast(self, tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
        """Take the values of the global rank `src`."""
        ranks = self._of(group).ranks

        def take(values: list[Any]) -> None:
            tensor.data[:] = values[ranks.index(src)]

        return self._tensor_event("broadcast", tensor, group, take, root=src, async_op=async_op)

    def all_gather(self, tensors: list[Tensor], tensor: Tensor, group: Any = None) -> None:
        """Take the values of every member."""

        def take(values: list[Any]) -> None:
            for mine, theirs in zip(tensors, values, strict=True):
                mine.data[:] = theirs

        self._tensor_event("all_gather", tensor, group, take)

    def reduce(self, tensor: Tensor, dst: int = 0, op: Any = sum, group: Any = None) -> None:
        """Reduce to the global rank `dst`."""

        def take(values: list[Any]) -> None:
            if self.rank == dst:
                tensor.data[:] = [op(column) for column in zip(*values, strict=True)]

        self._tensor_event("reduce", tensor, group, take, root=dst)

    def all_gather_object(self, objects: list[Any], value: Any, group: Any = None) -> None:
        """Take the objects of every member."""

        def take(values: list[Any]) -> None:
            objects[:] = values

        self._event("all_gather_object", self._of(group), ("all_gather_object",), value=lambda: value, take=take)

    def broadcast_object_list(self, objects: list[Any], src: int = 0, group: Any = None) -> None:
        """Take the objects of the global rank `src`."""
        ranks = self._of(group).ranks

        def take(values: list[Any]) -> None:
            objects[:] = values[ranks.index(src)]

        self._event(
            "broadcast_object_list", self._of(group), ("objects", src), root=src, value=lambda: list(objects), take=take
        )

    def barrier(self, group: Any = None) -> None:
        """Wait for every member."""
        self._event("barrier", self._of(group), ("barrier",))

    def send(self, tensor: Tensor, dst: int, group: Any = None) -> None:
        """Send to a global rank; blocks until it is received."""
        self._peer("send", self.rank, dst, tensor, group, lambda values: None)

    def recv(self, tensor: Tensor, src: int, group: Any = None) -> None:
        """Receive from a global rank."""

        def take(values: list[Any]) -> None:
            tensor.data[:] = values[0]

        self._peer("recv", src, self.rank, tensor, group, take)

    # -- how -----------------------------------------------------------------------------------------------------

    def _of(self, group: Group | None) -> Group:
        return Group(tuple(range(self.world.size)), 0) if group is None else group

    def _peer(
        self, op: str, source: int, target: int, tensor: Tensor, group: Any, take: Callable[[list[Any]], None]
    ) -> None:
        lane = f"{source}>{target}"
        detail = f"{tensor.dtype}[{tensor.numel()}]"
        like = ("peer", tensor.dtype, tensor.numel())
        self._event(op, self._of(group), like, detail=detail, lane=lane, value=lambda: list(tensor.data), take=take)

    def _tensor_event(
        self,
        op: str,
        tensor: Tensor,
        group: Any,
        take: Callable[[list[Any]], None],
        *,
        root: int = -1,
        async_op: bool = False,
    ) -> Work | None:
        detail = f"{tensor.dtype}[{tensor.numel()}]"
        like = (op, tensor.dtype, tensor.numel(), root)
        where = self._of(group)
        return self._event(
            op, where, like, root=root, detail=detail, value=lambda: list(tensor.data), take=take, async_op=async_op
        )

    def _event(
        self,
        op: str,
        group: Group,
        like: tuple[Any, ...],
        *,
        root: int = -1,
        detail: str = "",
        lane: str = "",
        value: Callable[[], Any] = lambda: None,
        take: Callable[[list[Any]], None] = lambda values: None,
        async_op: bool = False,
    ) -> Work | None:
        if self.rank not in group.ranks:
            return None
        ranks = tuple(int(part) for part in lane.split(">")) if ">" in lane else group.ranks
        key = f"{group.number}:{lane or ','.join(map(str, ranks))}"
        number = self.world.counts[self.rank].get(key, 0)
        self.world.counts[self.rank][key] = number + 1
        event = _Event(Call(op, _line(), ranks, number, detail, key), root, like, value, take)
        self.world.issue(self.rank, event)
        work = Work(self.world, self.rank, event)
        if async_op:
            return work
        work.wait()
        return None


def _flat(value: Any) -> list[float]:
    if isinstance(value, (Tensor, list, tuple)):
        return [number for one in value for number in _flat(one)]
    return [float(value)]


def _error(value: Any, right: Any) -> float:
    left, wanted = _flat(value), _flat(right)
    if len(left) != len(wanted):
        return float("inf")
    norm = sqrt(sum(b * b for b in wanted))
    off = sqrt(sum((a - b) ** 2 for a, b in zip(left, wanted, strict=True)))
    return off / norm if norm else off


def _briefly(value: Any, right: Any) -> tuple[str, str]:
    """Write both values: their first elements, or those from the worst on where the first show no difference."""
    left, wanted = _flat(value), _flat(right)
    firsts = _brief(left), _brief(wanted)
    if firsts[0] != firsts[1] or len(left) != len(wanted) or left == wanted:
        return firsts
    at = max(range(len(left)), key=lambda i: abs(left[i] - wanted[i]))
    return _brief(left, at), _brief(wanted, at)


def _brief(numbers: Sequence[float], at: int = 0) -> str:
    shown = ", ".join(f"{number:g}" for number in numbers[at : at + 4])
    before, after = "..., " if at else "", ", ..." if len(numbers) > at + 4 else ""
    return shown if len(numbers) == 1 else f"[{before}{shown}{after}]"


def _namespace(world: _World, rank: int) -> dict[str, Any]:
    dist = Dist(world, rank)

    def groups(lists: Sequence[Sequence[int]]) -> Group | None:
        mine = None
        for ranks in lists:
            made = dist.new_group(ranks)
            mine = mine if made is None else made
        return mine

    def check(name: str, value: Any, right: Any) -> None:
        made = Check(name, *_briefly(value, right), _error(value, right), _line())
        world.checks[rank].append(made)

    return {
        "torch": _torch(),
        "dist": dist,
        "rank": rank,
        "world": world.size,
        "groups": groups,
        "check": check,
    }


def run(text: str, size: int, prelude: str = "") -> ArmFacts:
    """Run an arm on `size` ranks. The text is ours or made by us: it is run as it stands."""
    start = perf_counter()
    code = compile(body(text), ARM, "exec")
    before = compile(prelude, "<prelude>", "exec")
    world = _World(size)
    ends: list[tuple[str, str, int, bool] | None] = [None] * size

    def work(rank: int) -> None:
        world.baton[rank].acquire()
        try:
            space = _namespace(world, rank)
            exec(before, space)
            exec(code, space)
            space["arm"]()
            ends[rank] = ("finished", "", 0, False)
        except _Stop:
            pass
        except BaseException as error:
            ends[rank] = ("raised", _sentence(error), _raised_at(error), isinstance(error, Clash))
        world.back.release()

    old = threading.stack_size(STACK)
    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    threading.stack_size(old)
    _turns(world, ends)
    for thread in threads:
        thread.join()
    ranks = tuple(_facts(world, rank, ends[rank]) for rank in range(size))
    return ArmFacts(ranks, perf_counter() - start)


def _turns(world: _World, ends: Sequence[object]) -> None:
    """Give every rank its turn until none can go on, then end those that wait."""
    moved, fresh = True, True
    while moved:
        moved = False
        for rank in range(world.size):
            event = world.waits[rank]
            if ends[rank] is None and (fresh or event is None or event.done or event.failed):
                moved = True
                world.baton[rank].release()
                world.back.acquire()
        fresh = False
    world.stopping = True
    for rank in range(world.size):
        if ends[rank] is None:
            world.baton[rank].release()
            world.back.acquire()


def _facts(world: _World, rank: int, end: tuple[str, str, int, bool] | None) -> RankFacts:
    checks, counts = tuple(world.checks[rank]), dict(world.counts[rank])
    event = world.waits[rank]
    if end is None:
        return RankFacts(rank, "waiting", None if event is None else event.call, checks=checks, counts=counts)
    state, error, line, clash = end
    call = event.call if clash and event is not None else None
    return RankFacts(rank, state, call, error, line, checks, counts, clash)


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _raised_at(error: BaseException) -> int:
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == ARM:
            line = trace.tb_lineno - 1
        trace = trace.tb_next
    return line
