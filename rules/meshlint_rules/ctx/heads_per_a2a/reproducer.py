"""What shows CTX003."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

REPRODUCER = Reproducer(
    "CTX003",
    (
        *attention_cases(
            "a2a",
            "three heads over the two ranks of an all-to-all",
            Setting("a2a", heads=3),
            Setting("a2a", heads=2),
            Happens.CRASH,
            error="cannot be cut into 2 equal parts",
        ),
        *attention_cases(
            "a2a+p2p",
            "three heads over the two ranks of the first level",
            Setting("a2a+p2p", [2, 1], heads=3),
            Setting("a2a+p2p", [2, 1], heads=2),
            Happens.CRASH,
            error="cannot be cut into 2 equal parts",
        ),
    ),
)
