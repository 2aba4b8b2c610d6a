"""What shows HCP001."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import without_groups

SAYS = "a2a+p2p without sizes: no groups are built, and each rank attends to its own part of the sequence"

REPRODUCER = Reproducer(
    "HCP001",
    (
        *attention_cases("no-sizes", SAYS, Setting("a2a+p2p", None), Setting("a2a+p2p", [2, 1]), Happens.WRONG),
        *attention_cases(
            "two-by-two",
            f"{SAYS}; on four ranks, with both levels of two ranks in the fixed arm",
            Setting("a2a+p2p", None, cp=4, seq=16),
            Setting("a2a+p2p", [2, 2], cp=4, seq=16),
            Happens.WRONG,
        ),
    ),
    own=without_groups("no-sizes", SAYS),
)
