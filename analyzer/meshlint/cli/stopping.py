"""Signals that end a run: whatever it started ends with it, and one sentence says so."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, the word of a scheduler or of `kill`, and a terminal that was closed."""

CALM = 5.0
"""Seconds in which a further signal does not disturb the end."""


class Stopped(BaseException):
    """A signal ended the run; the exit status is 128 and its number."""

    def __init__(self, number: int) -> None:
        """Take the number of the signal."""
        super().__init__(number)
        self.status = 128 + number
        self.sentence = f"stopped by {'Ctrl-C' if number == signal.SIGINT else signal.Signals(number).name}"


def stopped_by(error: BaseException) -> Stopped | None:
    """Give the Stopped behind another error: what it came up in may have made one of its own of it."""
    while not isinstance(error, Stopped):
        behind = error.__cause__ or error.__context__
        if behind is None:
            return None
        error = behind
    return error


@contextmanager
def stoppable() -> Iterator[None]:
    """Let signals raise Stopped inside, once in CALM seconds: what was started is ended meanwhile.

    What is ignored from outside (`nohup`, a job in the background) stays so; a forked child dies as if nothing was set.
    """
    own, before, calm = os.getpid(), {}, [0.0]

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != own:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if time.monotonic() < calm[0]:
            return
        calm[0] = time.monotonic() + CALM
        raise Stopped(number)

    with suppress(ValueError):  # outside of the main thread, which alone may say what signals do
        for number in SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
