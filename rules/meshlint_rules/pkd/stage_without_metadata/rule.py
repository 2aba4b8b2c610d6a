"""PKD001: packed metadata that does not reach every stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class StageWithoutMetadata(ProgramRule):
    """Packed metadata reaches some pipeline stages and not others that run attention.

    ## What it does

    Finds a packed key (`cu_seqlens`, `max_seqlen`) that is sent on one pipeline stage and on another is not, and early
    returns of Nones on stages that are neither first nor last where the others get one.

    ## Why this is bad

    Attention on the stage without it treats the packed sequences as one: wrong attention, without an error.

    ## Example

    ```python
    if is_first_stage():
        send(tokens); send(cu_seqlens)
    elif is_last_stage():
        send(labels)
    ```

    ## Use instead

    ```python
    if is_first_stage():
        send(tokens)
    elif is_last_stage():
        send(labels)
    send(cu_seqlens)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "PKD001"
    slug = "stage-without-metadata"
    outcomes = (
        Outcome.WRONG,
        Outcome.CRASH_LATE,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = StageWithoutMetadata
