"""What shows CTX002: an error of Transformer Engine's own."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

REPRODUCER = Reproducer(
    "CTX002",
    attention_cases(
        "no-such-type",
        "a comm type that Transformer Engine does not know",
        Setting("ring"),
        Setting("p2p"),
        Happens.CRASH,
        stand_in=False,
    ),
    missing="which types there are is for Transformer Engine to say",
)
