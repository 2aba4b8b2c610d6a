"""What shows HCP010: a level of one rank leaves the other algorithm alone."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

REPRODUCER = Reproducer(
    "HCP010",
    (
        *attention_cases(
            "p2p-by-another-name",
            "a2a+p2p with sizes [1, 2] (failing) and plain p2p (fixed) give the same right values",
            Setting("a2a+p2p", [1, 2]),
            Setting("p2p"),
            Happens.OK,
        ),
        *attention_cases(
            "a2a-by-another-name",
            "a2a+p2p with sizes [2, 1] (failing) and plain a2a (fixed) give the same right values",
            Setting("a2a+p2p", [2, 1]),
            Setting("a2a"),
            Happens.OK,
        ),
    ),
)
