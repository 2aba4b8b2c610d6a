"""What shows HCP009."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import without_groups

REPRODUCER = Reproducer(
    "HCP009",
    attention_cases(
        "cleared",
        "a helper for one GPU clears the sizes, and an override brings cp = 2 back without them",
        Setting("a2a+p2p", None),
        Setting("a2a+p2p", [2, 1]),
        Happens.WRONG,
    ),
    own=without_groups("cleared", "the sizes are gone, and the override brings cp back without them"),
)
