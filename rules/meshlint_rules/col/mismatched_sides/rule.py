"""COL003: two sides of a gate that make different collectives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class MismatchedSides(ProgramRule):
    """Both sides of a gate make collectives on a group that it divides, and they do not match.

    ## What it does

    Finds branches on a rank whose two sides call different collectives, in another order, or another number of
    them. Keys of a batch that both sides name must go out and come in alike, with one, two and three pipeline stages;
    room that receivers make for a key and return must be sent to; and sizes must agree where they are written out or
    computed (`n` elements against `n + 1`, one setting against it and another).

    ## Why this is bad

    Ranks of one group meet in calls that do not fit: a hang, a clash of sizes, or a silent mix of two messages.

    ## Example

    ```python
    if tp_rank == 0:
        dist.broadcast(tokens, src, group=tp)
        dist.broadcast(labels, src, group=tp)
    else:
        dist.broadcast(tokens, src, group=tp)
    ```

    ## Use instead

    ```python
    dist.broadcast(tokens, src, group=tp)
    dist.broadcast(labels, src, group=tp)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "COL003"
    slug = "mismatched-sides"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = MismatchedSides
