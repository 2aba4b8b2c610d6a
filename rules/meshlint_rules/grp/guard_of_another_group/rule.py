"""GRP004: a collective behind a test of another group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class GuardOfAnotherGroup(ProgramRule):
    """A collective behind a test of membership or size of another group.

    ## What it does

    Finds `if a is not None:` or `size(a) > 1` around a collective on group b, where a rank of b can be outside of
    a.

    ## Why this is bad

    Ranks of b that are not in a skip the collective: the others hang, or nothing is reduced where it should be.

    ## Example

    ```python
    if get_embedding_group() is not None:
        dist.all_reduce(x, group=get_pipeline_group())
    ```

    ## Use instead

    ```python
    dist.all_reduce(x, group=get_pipeline_group())
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "GRP004"
    slug = "guard-of-another-group"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = GuardOfAnotherGroup
