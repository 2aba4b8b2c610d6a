"""Rules of several clauses: one that cannot be judged must not take away what another finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from meshlint.config.effective import EffectiveConfig, Unjudged

T = TypeVar("T")


def each(config: EffectiveConfig, *clauses: Callable[[EffectiveConfig], Iterator[T]]) -> Iterator[T]:
    """Give what every clause finds; where none finds anything and some met an unknown, end as the first of them did."""
    stopped: Unjudged | None = None
    found = False
    for clause in clauses:
        try:
            verdicts = list(clause(config))
        except Unjudged as stop:
            stopped = stopped or stop
            continue
        found = found or bool(verdicts)
        yield from verdicts
    if stopped is not None and not found:
        raise stopped
