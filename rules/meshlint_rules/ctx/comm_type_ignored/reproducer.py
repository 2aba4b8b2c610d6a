"""What shows CTX010: with one rank in the group, the comm type does nothing."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

REPRODUCER = Reproducer(
    "CTX010",
    attention_cases(
        "one-rank",
        "a2a with cp = 1 (failing) and p2p with cp = 1 (fixed) give the same right values",
        Setting("a2a", cp=1, real={"cp": 1}),
        Setting("p2p", cp=1, real={"cp": 1}),
        Happens.OK,
    ),
)
