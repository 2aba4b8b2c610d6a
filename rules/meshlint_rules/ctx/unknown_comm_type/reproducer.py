"""What shows CTX002: an error of Transformer Engine's own."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Case, Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, numbers, told, word

CP = "context_parallel_size"


def of(comm: str) -> tuple[Case, ...]:
    """Make the case of a name on two ranks."""
    says = f"the comm type {comm}, which Transformer Engine does not know (failing), and p2p (fixed)"
    return attention_cases("no-such-type", says, Setting(comm), Setting("p2p"), Happens.CRASH, stand_in=False)


def own(sizes: Sizes) -> Own | None:
    """Make the case of the name that a finding is about."""
    found, comm = numbers(sizes, CP), word(sizes.get("subject"))
    if found is None or found[0] < 2 or not comm:
        return None
    return Own(of(comm), told({CP: found[0], "cp_comm_type": comm}, {CP: (found[0], 2)}))


REPRODUCER = Reproducer("CTX002", of("ring"), own=own, missing="which types there are is for Transformer Engine to say")
