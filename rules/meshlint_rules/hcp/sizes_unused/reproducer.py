"""What shows HCP007: the same values with the sizes and without."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

REPRODUCER = Reproducer(
    "HCP007",
    attention_cases(
        "sizes-with-p2p",
        "sizes beside p2p: the same right values with them (failing) and without them (fixed), so they do nothing",
        Setting("p2p", [2, 1]),
        Setting("p2p", None),
        Happens.OK,
    ),
)
