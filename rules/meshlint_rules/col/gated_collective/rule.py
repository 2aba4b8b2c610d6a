"""COL001: a collective inside a gate that divides its group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class GatedCollective(ProgramRule):
    """A collective inside a gate that divides its group, at any call depth.

    ## What it does

    Finds a collective that only some ranks of its group reach, because it stands inside a branch whose condition
    can differ between two ranks of one group. A gate on other dims (`if tp_rank == 0:` around a collective of the
    dp group) is fine.

    ## Why this is bad

    The ranks that enter wait for those that do not: for ever, or until a later call of the same shape pairs with
    theirs silently, and training goes on with wrong numbers.

    ## Example

    ```python
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
    ```

    ## Use instead

    ```python
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        report(loss)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "COL001"
    slug = "gated-collective"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = GatedCollective
