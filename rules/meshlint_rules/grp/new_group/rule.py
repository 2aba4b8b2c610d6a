"""GRP001: groups that not all ranks make alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class NewGroup(ProgramRule):
    """A process group that not all ranks create, or not with the same list or in the same order.

    ## What it does

    Finds `new_group` and its kin behind a gate, or with a list of ranks that differs between ranks.

    ## Why this is bad

    `new_group` is a collective of the whole world, members or not: each rank numbers its groups, and the numbers are
    how members find each other. Where some ranks alone make a group, with torch 2.11 and 2.13 the call itself returns,
    and the next group that everybody makes hangs: in `new_group` on gloo, in its first collective on NCCL. Where lists
    differ, ranks disagree about the members. With `TORCH_DIST_INIT_BARRIER=1`, and in older releases, the first call
    waits for every rank.

    ## Example

    ```python
    if rank in ranks:
        group = dist.new_group(ranks)
    ```

    ## Use instead

    ```python
    group = dist.new_group(ranks)
    if rank in ranks:
        use(group)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "GRP001"
    slug = "new-group"
    outcomes = (
        Outcome.HANG,
        Outcome.CRASH_START,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = NewGroup
