"""COL004: a loop of collectives whose trip count differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class DivergentLoop(ProgramRule):
    """A loop around a collective whose number or order of rounds differs between ranks of the group.

    ## What it does

    Finds loops over something that differs between ranks of a group, with a collective of that group inside: a number
    of rounds, a share such as `items[rank::world]` that nothing evens out, or an order that each rank has for itself:
    that of a set of names or objects, of a list or dict made from one, of the states of an optimizer.

    A set is gone through by the hashes of its elements. Those of text hang on a seed that each process draws for itself
    (`PYTHONHASHSEED`, which torchrun does not set), those of tensors and modules on where they lie in memory. Small
    numbers come alike everywhere, and `sorted` settles the rest.

    ## Why this is bad

    The rank with more rounds waits in a collective that nobody joins.

    ## Example

    ```python
    for _ in range(dist.get_rank()):
        dist.barrier()
    ```

    ## Use instead

    ```python
    for _ in range(dist.get_world_size()):
        dist.barrier()
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "COL004"
    slug = "divergent-loop"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = DivergentLoop
