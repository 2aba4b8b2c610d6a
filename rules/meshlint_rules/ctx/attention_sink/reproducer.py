"""What shows CTX005: an assertion of Transformer Engine's own."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

SINK = {"softmax_type": "'off-by-one'"}

CASES = attention_cases(
    "sink-with-p2p",
    "softmax_type off-by-one with p2p (failing) and with a2a (fixed)",
    Setting("p2p", real=SINK),
    Setting("a2a", real=SINK),
    Happens.CRASH,
    stand_in=False,
)

REPRODUCER = Reproducer(
    "CTX005",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which algorithm knows sinks is for Transformer Engine to say",
)
