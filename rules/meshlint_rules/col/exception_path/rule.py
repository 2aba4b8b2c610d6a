"""COL005: a collective on one side of an exception edge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class ExceptionPath(ProgramRule):
    """Ranks part at an exception edge, with a collective after it or in the handler.

    ## What it does

    Finds handlers that leave or make collectives, and checks that stop some ranks, where the others go on to a
    collective: such as one that refuses a path which every rank then makes, and which a slow rank finds made.

    ## Why this is bad

    An exception on one rank leaves the others waiting until the watchdog ends the job.

    ## Example

    ```python
    try:
        load()
    except OSError:
        return
    dist.barrier()
    ```

    ## Use instead

    ```python
    ok = try_load()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    if not ok:
        return
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "COL005"
    slug = "exception-path"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = ExceptionPath
