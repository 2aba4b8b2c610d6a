"""What shows PKD005."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed
from meshlint.reproduce.packing import PARTITION, PARTITION_RUNS, padded, partition

SAYS = "each packed sequence is cut into 2 * cp chunks, and the cut rounds down"


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
    own=padded("tokens", "sequences padded to multiples of {pad} (failing) and of {right} (fixed) over {ranks} ranks"),
)
