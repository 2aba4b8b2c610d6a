"""What shows CTX004: an assertion of Transformer Engine's own."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

WINDOW = {"window_size": (256, 0)}

CASES = attention_cases(
    "window-with-p2p",
    "a sliding window of 256 tokens with p2p (failing) and with all_gather (fixed)",
    Setting("p2p", real=WINDOW),
    Setting("all_gather", real=WINDOW),
    Happens.CRASH,
    stand_in=False,
    real_error="Error",
)

REPRODUCER = Reproducer(
    "CTX004",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which algorithm knows windows is for Transformer Engine to say",
)
