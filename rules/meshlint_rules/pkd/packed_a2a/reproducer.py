"""What shows PKD003, on the releases that it speaks of: later ones run the failing arm right."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

LENGTHS = (352, 148, 524, 1024)

CASES = attention_cases(
    "packed",
    "packed sequences with a2a (failing) and with p2p (fixed), on Transformer Engine before 2.10",
    Setting("a2a", real={"lengths": LENGTHS}),
    Setting("p2p", real={"lengths": LENGTHS}),
    Happens.CRASH,
    stand_in=False,
    real_error="thd format is not supported | mask type is not supported",
    releases="<2.10",
)

REPRODUCER = Reproducer(
    "PKD003",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which exchange knows packed sequences is for Transformer Engine to say",
)
