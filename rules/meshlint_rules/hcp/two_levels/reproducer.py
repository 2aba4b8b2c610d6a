"""What shows HCP003."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

REPRODUCER = Reproducer(
    "HCP003",
    (
        *attention_cases(
            "one-level",
            "a2a+p2p with one level of groups",
            Setting("a2a+p2p", [2]),
            Setting("a2a+p2p", [2, 1]),
            Happens.CRASH,
            real_error="AssertionError",
        ),
        *attention_cases(
            "three-levels",
            "a2a+p2p with three levels of groups",
            Setting("a2a+p2p", [2, 1, 1]),
            Setting("a2a+p2p", [2, 1]),
            Happens.CRASH,
            real_error="AssertionError",
        ),
    ),
)
