"""GRP005: a call without the group that makes its function agree with other ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class OptionalGroupDisablesSync(ProgramRule):
    """A call leaves out the group without which the function does not agree with the other ranks.

    ## What it does

    Finds calls that omit a group parameter where the function makes a collective only if the group is given, and
    another call gives it.

    ## Why this is bad

    Each rank goes on with its own number (of micro-batches, say), and the collectives that follow no longer
    match.

    ## Example

    ```python
    batches = split(data)            # split(data, group=None) reduces the count only with a group
    ```

    ## Use instead

    ```python
    batches = split(data, group=dp_group)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "GRP005"
    slug = "optional-group-disables-sync"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = OptionalGroupDisablesSync
