"""What shows HCP008: the one flat group that hybrid context parallelism gives each packed sequence."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

FLAT = {"lengths": (352, 148, 524, 1024), "flat": True}

CASES = attention_cases(
    "flat-group",
    "packed sequences that bring one flat group, as hybrid context parallelism gives them, with a2a+p2p (failing) "
    "and with p2p (fixed)",
    Setting("a2a+p2p", [2, 1], real=FLAT),
    Setting("p2p", real=FLAT),
    Happens.CRASH,
    stand_in=False,
    real_error="requires cp_group",
)

REPRODUCER = Reproducer(
    "HCP008",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="its clause about the group is Transformer Engine's assertion, its others are checks of training scripts",
)
