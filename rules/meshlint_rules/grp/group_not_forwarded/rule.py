"""GRP003: a group that a function is given and leaves out in one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class GroupNotForwarded(ProgramRule):
    """A function is given a group, uses it in one call, and leaves it out in another whose default is the world.

    ## What it does

    Finds collectives and size queries on the default group in a function that takes a group and passes it to
    other calls, and calls of the program's own functions (itself, in a recursion) that make a collective on a group of
    that name and are not given it. Finds collectives on the default group where a function has asked whether a group is
    there and then uses it for nothing. As an info, a sum over all ranks that stands in for one over a group of model
    parallelism where that group is None: there is nothing to sum over then.

    ## Why this is bad

    The call works over all ranks instead of the group: wrong sums, a wrong divisor, or ranks outside of the group
    that never come.

    ## Example

    ```python
    def mean(x, group):
        dist.all_reduce(x, group=group)
        return x / dist.get_world_size()
    ```

    ## Use instead

    ```python
    def mean(x, group):
        dist.all_reduce(x, group=group)
        return x / dist.get_world_size(group)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "GRP003"
    slug = "group-not-forwarded"
    outcomes = (
        Outcome.WRONG,
        Outcome.HANG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = GroupNotForwarded
