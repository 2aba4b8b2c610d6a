"""COL007: a call that makes collectives inside, on some ranks only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class CompositeOnSomeRanks(ProgramRule):
    """A call that makes collectives inside (a checkpoint, a schedule, a wrapped forward) on some ranks only.

    ## What it does

    Finds library calls that stand for many collectives behind a gate that divides their group. A forward, a
    `state_dict()` or a `clip_grad_norm_` counts where the function itself wraps the model by FSDP, a checkpoint of an
    engine where it makes the engine by `deepspeed.initialize`, and `full_tensor()` behind a gate on the rank in the
    job: over which dims a tensor or a model lies is not known, so these are warnings at most, the engine apart.

    ## Why this is bad

    The library waits inside for ranks that never call it.

    ## Example

    ```python
    if dist.get_rank() == 0:
        dist_checkpointing.save(state, path)
    ```

    ## Use instead

    ```python
    dist_checkpointing.save(state, path)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "COL007"
    slug = "composite-on-some-ranks"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = CompositeOnSomeRanks
