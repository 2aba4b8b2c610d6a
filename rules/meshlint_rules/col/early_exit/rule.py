"""COL002: an exit of some ranks before a collective."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class EarlyExit(ProgramRule):
    """Some ranks leave before a collective that the others reach.

    ## What it does

    Finds a `return`, `break` or `continue` under a gate that divides a group, with a collective of that group
    after it.

    ## Why this is bad

    The ranks that stay wait for those that left.

    ## Example

    ```python
    if not is_last_stage():
        return None
    dist.all_reduce(loss)
    ```

    ## Use instead

    ```python
    dist.all_reduce(loss)
    if not is_last_stage():
        return None
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "COL002"
    slug = "early-exit"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = EarlyExit
