"""Room for recursion: the same wherever it is asked for, and whether meshlint is compiled or not.

What meshlint follows is bounded by counts. Python's own limit counts the calls of interpreted code alone, those of
whoever called included, so that a plain and a compiled meshlint would come to it in different places. Here it is set
from where it is asked for: high enough that the counts end first, or, where C recurses by it as in `ast.parse`, alike.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def room(calls: int) -> Iterator[None]:
    """Let so many interpreted calls stand inside of one another from here on."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_standing() + calls)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _standing() -> int:
    """Count the interpreted calls that this one stands in."""
    count, frame = 0, sys._getframe()
    while frame.f_back is not None:
        count, frame = count + 1, frame.f_back
    return count
