"""What shows PKD004, on the releases that it speaks of: later ones run the failing arm right."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

LENGTHS = (352, 148, 524, 1024)

CASES = attention_cases(
    "packed",
    "packed sequences with a2a+p2p (failing) and with p2p (fixed), on Transformer Engine from 1.12 to 2.18",
    Setting("a2a+p2p", [2, 1], real={"lengths": LENGTHS}),
    Setting("p2p", real={"lengths": LENGTHS}),
    Happens.CRASH,
    stand_in=False,
    real_error="thd format is not supported",
    releases=">=1.12,<2.19",
)

REPRODUCER = Reproducer(
    "PKD004",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which exchange knows packed sequences is for Transformer Engine to say",
)
