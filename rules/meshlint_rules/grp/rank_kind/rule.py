"""GRP002: a rank of the wrong kind as source or destination."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class RankKind(ProgramRule):
    """A source or destination rank of the wrong kind: group-local for global, or not of the group at all.

    ## What it does

    Finds sources that are not in every instance of the group (a constant, or a place in the group), and destinations
    (where none is said, `gather`, `scatter` and their forms for objects take rank 0 of the job), ranks inside of a node
    given as ranks of the job, and places in a group looked for among the ranks from which groups are made.

    ## Why this is bad

    In every instance of the group but one the source is no member: an error at the first call, or a hang. A place that
    is looked for among ranks of the job finds the group of others.

    ## Example

    ```python
    dist.broadcast(x, src=0, group=tp_group)
    ```

    ## Use instead

    ```python
    dist.broadcast(x, group_src=0, group=tp_group)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "GRP002"
    slug = "rank-kind"
    outcomes = (
        Outcome.HANG,
        Outcome.CRASH_LATE,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = RankKind
