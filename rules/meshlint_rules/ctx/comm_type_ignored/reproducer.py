"""What shows CTX010: with one rank in the group, the comm type does nothing."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Case, Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, told

CP, TYPE = "context_parallel_size", "cp_comm_type"
KNOWN = ("a2a", "all_gather", "p2p")


def of(comm: str, other: str) -> tuple[Case, ...]:
    """Make the case of one type and another on one rank."""
    says = f"{comm} with cp = 1 (failing) and {other} with cp = 1 (fixed) give the same right values"
    failing, right = (Setting(one, cp=1, real={"cp": 1}) for one in (comm, other))
    return attention_cases("one-rank", says, failing, right, Happens.OK)


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's comm type, the first of a list."""
    written = sizes.get(TYPE)
    comm = written[0] if isinstance(written, list) and written else written
    if sizes.get(CP, 1) != 1 or comm not in KNOWN:
        return None
    return Own(of(str(comm), "a2a" if comm == "p2p" else "p2p"), told({CP: 1, TYPE: comm}, {}))


REPRODUCER = Reproducer("CTX010", of("a2a", "p2p"), own=own)
