"""PKD007: packed metadata that senders and receivers disagree on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from meshlint.rule import Outcome, ProgramRule, Reference, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.program import Program


class ReceiversDiffer(ProgramRule):
    """Tensor-parallel senders and receivers of a batch disagree about packed metadata.

    ## What it does

    Finds stages on which, whatever the batch holds, the rank that sends a packed key and the ranks that receive
    do not match.

    ## Why this is bad

    The broadcasts of the batch slip: a hang, or `cu_seqlens` received into another tensor.

    ## Example

    ```python
    if tp_rank == 0:
        send(batch['tokens']); send(batch['cu_seqlens'])
    else:
        receive(tokens)
    ```

    ## Use instead

    ```python
    if tp_rank == 0:
        send(batch['tokens']); send(batch['cu_seqlens'])
    else:
        receive(tokens); receive(cu_seqlens)
    ```

    ## References/versions

    The message shows both traces on the smallest mesh that fails, from a simulation of the program's own calls.
    """

    code = "PKD007"
    slug = "receivers-differ"
    outcomes = (
        Outcome.HANG,
        Outcome.WRONG,
    )
    references = (Reference("torch.distributed: every rank of a group must make the same calls in the same order"),)

    def check(self, program: Program) -> Iterator[Verdict]:
        """Give the faults of this code."""
        yield from self.told(program)


RULE = ReceiversDiffer
