"""What shows PKD005."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Happens, Own, Reproducer, fixed
from meshlint.reproduce.own import Sizes, numbers, smallest, told
from meshlint.reproduce.packing import PARTITION, PARTITION_RUNS, partition

OK = Happens.OK
SAYS = "each packed sequence is cut into 2 * cp chunks, and the cut rounds down"


def own(sizes: Sizes) -> Own | None:
    """Make the case of sequences padded to a launch's multiple, and to 2 * cp."""
    found = numbers(sizes, "pad_multiple", "context_parallel_size")
    few = None if found is None else smallest(found[0], found[1], chunks=2)
    if found is None or few is None:
        return None
    pad, cp = found
    small = pad % (2 * few)  # the same is left over of each sequence
    says = f"sequences padded to multiples of {small} (failing) and of {2 * few} (fixed) over {few} ranks"
    failing, right = (Arm(partition([3 * unit, unit]), what) for unit, what in ((small, Happens.WRONG), (2 * few, OK)))
    case = Case("tokens", says, few, failing, right, prelude=PARTITION, runs=PARTITION_RUNS)
    words = {"pad multiple": pad, "context_parallel_size": cp}
    return Own((case,), told(words, {"pad multiple": (pad, small), "context_parallel_size": (cp, few)}))


REPRODUCER = Reproducer(
    "PKD005",
    (
        *attention_cases(
            "attention",
            f"{SAYS}: lengths 350, 150, 524 and 1024 with cp = 2 (failing), multiples of 4 (fixed)",
            Setting("p2p", real={"lengths": (350, 150, 524, 1024)}),
            Setting("p2p", real={"lengths": (352, 148, 524, 1024)}),
            Happens.WRONG,
            stand_in=False,
        ),
        Case(
            "tokens",
            f"{SAYS}: tokens are dropped and others doubled",
            2,
            Arm(partition([6, 5, 5]), Happens.WRONG),
            fixed(partition([8, 4, 4])),
            prelude=PARTITION,
            runs=PARTITION_RUNS,
        ),
    ),
    own=own,
)
