"""COL006: a collective behind a condition on rank-local data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class DataGate(ProgramRule):
    """A collective behind a condition on data, files or clocks of the rank itself.

    ## What it does

    Finds gates whose condition each rank decides for itself: a file that exists, a clock, an empty shard. It is a
    warning where the program itself shows that ranks differ (it writes the file that it asks for before all have met,
    gathers the size that it tests, asks for its shard of an optimizer or for the name of its host), else an
    info.

    ## Why this is bad

    Nothing makes the ranks decide alike; when they do not, some wait for ever.

    ## Example

    ```python
    if os.path.exists(flag):
        dist.barrier()
    ```

    ## Use instead

    ```python
    found = torch.tensor(os.path.exists(flag))
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    if found:
        dist.barrier()
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "COL006"
    slug = "data-gate"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = DataGate
