"""What shows HCP001."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

REPRODUCER = Reproducer(
    "HCP001",
    attention_cases(
        "no-sizes",
        "a2a+p2p without sizes: no groups are built, and each rank attends to its own part of the sequence",
        Setting("a2a+p2p", None),
        Setting("a2a+p2p", [2, 1]),
        Happens.WRONG,
    ),
)
