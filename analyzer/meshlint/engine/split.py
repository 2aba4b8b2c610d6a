"""Work shared out among processes: each takes the next piece when it is through with one, and sends what it found.

What stands in a queue is handed out by a pipe: it holds the numbers of the pieces, and each number is read once, by
whoever asks first. So nobody waits for one that has drawn the longer part, however unlike the pieces are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from meshlint.records import dataclass

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

Item = TypeVar("Item")
Found = TypeVar("Found")

LEAST = 96
"""Items below which one process is faster than two."""
MAX_WORKERS = 4
BLOCK = 16
"""Neighbours that stay together: they read the same files."""
NUMBER = 4
"""Bytes of the number of a piece; a pipe gives all of them or, behind the last, none."""
MAX_PIECES = 1000
"""Pieces of one queue: a pipe holds as many numbers on every system before anybody reads."""


def workers(items: int, least: int = LEAST) -> int:
    """Give how many processes to use; more than one only where forking is safe."""
    if items < least or sys.platform != "linux" or os.environ.get("MESHLINT_WORKERS") == "1":
        return 1
    return max(1, min(MAX_WORKERS, len(os.sched_getaffinity(0)), items // (least // 2)))


@dataclass(slots=True)
class Queue(Generic[Item]):
    """Items in pieces of so many neighbours, each of which goes to one process."""

    items: Sequence[Item]
    block: int
    pipe: int = -1
    """What gives the numbers of the pieces that are left; none where one process takes all."""

    def open(self) -> None:
        """Hand out the pieces through a pipe."""
        self.block = max(self.block, -(-len(self.items) // MAX_PIECES))
        self.pipe, end = os.pipe()
        for start in range(0, len(self.items), self.block):
            os.write(end, start.to_bytes(NUMBER, "little"))
        os.close(end)

    def close(self) -> None:
        """Let go of the pipe."""
        if self.pipe >= 0:
            os.close(self.pipe)
            self.pipe = -1

    def taken(self) -> Iterator[range]:
        """Take pieces, as the places of their items, for as long as there are some."""
        if self.pipe < 0:
            yield range(len(self.items))
            return
        while number := os.read(self.pipe, NUMBER):
            start = int.from_bytes(number, "little")
            yield range(start, min(len(self.items), start + self.block))


@dataclass(slots=True, eq=False)
class Taken(Generic[Item]):
    """The items that one process takes, one after the other: those of its own queue first, then of the others'."""

    queues: Sequence[Queue[Item]]
    own: int
    places: list[tuple[int, int]] = field(default_factory=list)
    """Queue and place of each item that was taken."""

    def __iter__(self) -> Iterator[Item]:
        for offset in range(len(self.queues)):
            number = (self.own + offset) % len(self.queues)
            queue = self.queues[number]
            for places in queue.taken():
                for place in places:
                    self.places.append((number, place))
                    yield queue.items[place]

    @property
    def total(self) -> int:
        """Give how many items there are for all processes together."""
        return sum(len(queue.items) for queue in self.queues)

    @property
    def reached(self) -> int:
        """Give how many items lie before the one taken last, counted over the queues in their order."""
        if not self.places:
            return 0
        number, place = self.places[-1]
        return sum(len(queue.items) for queue in self.queues[:number]) + place


Work = Callable[[Taken[Item], bool], Found]
"""What is done with the items that a process takes; true for the process that was there before."""


def share(items: Sequence[Item], work: Work[Item, Found], number: int, block: int = BLOCK) -> list[Found]:
    """Give what `work` makes in each process of the items that it takes; `block` neighbours stay together.

    This process takes part (`work(taken, True)`); what a child took and failed to send is done here.
    """
    return _shared([Queue(items, block)], work, number)


def share_parts(parts: Sequence[Sequence[Item]], work: Work[Item, Found]) -> list[Found]:
    """Give what `work` makes in one process for each part, which takes of the others when its own is done."""
    queues = [Queue(part, 1) for part in parts if part]
    return _shared(queues, work, len(queues))


def _shared(queues: list[Queue[Item]], work: Work[Item, Found], number: int) -> list[Found]:
    if number < 2:
        return [work(Taken(queues, 0), True)]
    for queue in queues:
        queue.open()
    try:
        children = [_start(Taken(queues, own % len(queues)), work) for own in range(1, number)]
        taken = Taken(queues, 0)
        found, done = [work(taken, True)], set(taken.places)
    finally:
        for queue in queues:
            queue.close()
    for child, pipe in children:
        sent = _received(pipe)
        child.join()
        if sent is not None:
            done.update(sent[0])
            found.append(sent[1])
    left = [item for one, queue in enumerate(queues) for at, item in enumerate(queue.items) if (one, at) not in done]
    return [*found, work(Taken([Queue(left, 1)], 0), False)] if left else found


def _start(taken: Taken[Item], work: Work[Item, Found]) -> tuple[ForkProcess, Connection]:
    from multiprocessing import get_context

    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(taken, work, theirs, ours, os.getpid()), daemon=True)
    child.start()
    theirs.close()
    return child, ours


def _child(
    taken: Taken[Item],
    work: Work[Item, Found],
    pipe: Connection,
    other: Connection,
    parent: int,
) -> None:
    other.close()  # the parent's end: a pipe that nobody else reads must not be waited for
    if not _ends_with(parent):
        return
    try:
        found = work(taken, False)
        pipe.send((taken.places, found))
        pipe.close()
    except Exception:
        return  # the parent does it again, and shows what is wrong


def _ends_with(parent: int) -> bool:
    """Let the kernel end this process when its parent is gone; false where it is gone already."""
    import ctypes
    import signal

    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # whatever they do in the parent
        signal.signal(one, signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    return os.getppid() == parent


def _received(pipe: Connection) -> tuple[list[tuple[int, int]], Any] | None:
    """Give what a child took and found; None where it failed."""
    try:
        received: tuple[list[tuple[int, int]], Any] = pipe.recv()
    except (EOFError, OSError):
        return None
    return received
