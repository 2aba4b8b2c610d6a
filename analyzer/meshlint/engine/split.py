"""Work shared out among processes: forked children take part of it and send back what they found."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

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


def workers(items: int, least: int = LEAST) -> int:
    """Give how many processes to use; more than one only where forking is safe."""
    if items < least or sys.platform != "linux" or os.environ.get("MESHLINT_WORKERS") == "1":
        return 1
    return max(1, min(MAX_WORKERS, len(os.sched_getaffinity(0)), items // (least // 2)))


def share(
    items: Sequence[Item], work: Callable[[Sequence[Item], bool], Found], number: int, block: int = BLOCK
) -> list[Found]:
    """Give what `work` makes of each part of the items; `block` neighbours stay together.

    This process does the first part (`work(part, True)`), children the others; what a child fails to send is done here.
    """
    return share_parts(_parts(items, number, block), work)


def share_parts(parts: Sequence[Sequence[Item]], work: Callable[[Sequence[Item], bool], Found]) -> list[Found]:
    """Give what `work` makes of each part, as `share` does."""
    parts = [part for part in parts if part]
    children = [_start(part, work) for part in parts[1:]]
    found = [work(part, True) for part in parts[:1]]
    for part, (child, pipe) in zip(parts[1:], children, strict=True):
        found.append(_received(part, work, pipe))
        child.join()
    return found


def _parts(items: Sequence[Item], number: int, block: int) -> list[list[Item]]:
    return [[item for i, item in enumerate(items) if i // block % number == k] for k in range(number)]


def _start(part: Sequence[Item], work: Callable[[Sequence[Item], bool], Found]) -> tuple[ForkProcess, Connection]:
    from multiprocessing import get_context

    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(part, work, theirs, ours, os.getpid()), daemon=True)
    child.start()
    theirs.close()
    return child, ours


def _child(
    part: Sequence[Item],
    work: Callable[[Sequence[Item], bool], Found],
    pipe: Connection,
    other: Connection,
    parent: int,
) -> None:
    other.close()  # the parent's end: a pipe that nobody else reads must not be waited for
    if not _ends_with(parent):
        return
    try:
        found = work(part, False)
        pipe.send(found)
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


def _received(part: Sequence[Item], work: Callable[[Sequence[Item], bool], Found], pipe: Connection) -> Found:
    try:
        received: Found = pipe.recv()
    except (EOFError, OSError):
        return work(part, False)
    return received
