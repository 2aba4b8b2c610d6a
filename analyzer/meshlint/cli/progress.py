"""Progress of long runs, on a terminal only."""

from __future__ import annotations

import time
from typing import TextIO

PATIENCE = 1.0
"""Seconds before the first word."""
PAUSE = 0.1


class Progress:
    """Writes one line over and over, and wipes it at the end."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.next = time.monotonic() + PATIENCE
        self.shown = False

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show how far the run is; `done` equal to `total` wipes the line."""
        now = time.monotonic()
        if done >= total:
            if self.shown:
                self.stream.write("\r\x1b[K")
                self.stream.flush()
            return
        if now < self.next:
            return
        from meshlint.report.text import clean

        self.next, self.shown = now + PAUSE, True
        self.stream.write(f"\r\x1b[K{done} of {total}: {clean(what)[-60:]}")
        self.stream.flush()
