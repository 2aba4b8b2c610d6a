"""What shows PKD002, on the releases that it speaks of: later ones run the failing arm right."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

LENGTHS = (352, 148, 524, 1024)

CASES = attention_cases(
    "packed",
    "packed sequences with all_gather (failing) and with p2p (fixed), on Transformer Engine before 2.18",
    Setting("all_gather", real={"lengths": LENGTHS}),
    Setting("p2p", real={"lengths": LENGTHS}),
    Happens.CRASH,
    stand_in=False,
    real_error="thd format is not supported | mask type is not supported",
    releases="<2.18",
)

REPRODUCER = Reproducer(
    "PKD002",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which exchange knows packed sequences is for Transformer Engine to say",
)
