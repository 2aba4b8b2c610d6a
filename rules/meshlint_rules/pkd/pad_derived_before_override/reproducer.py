"""What shows PKD008."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed
from meshlint.reproduce.packing import PARTITION, PARTITION_RUNS, padded

ARM = """\
{first}pad = 2 * cp if cp > 1 else 1
{second}counted([-(-length // pad) * pad for length in (6, 5, 5)])
"""
BEFORE, OVERRIDE = "cp = 1\n", "cp = world  # the override, too late for the pad\n"

REPRODUCER = Reproducer(
    "PKD008",
    (
        Case(
            "pad-of-cp-1",
            "the pad multiple is computed while cp is 1, and cp is overridden afterwards",
            2,
            Arm(ARM.format(first=BEFORE, second=OVERRIDE), Happens.WRONG),
            fixed(ARM.format(first="cp = world\n", second="")),
            prelude=PARTITION,
            runs=PARTITION_RUNS,
        ),
    ),
    own=padded(
        "pad-of-another-cp",
        "a pad multiple of {pad}, made before cp was set to {ranks} (failing), and the {right} that it needs (fixed)",
    ),
)
