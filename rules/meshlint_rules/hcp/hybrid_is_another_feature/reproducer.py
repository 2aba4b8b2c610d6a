"""What shows HCP008: the one flat group that hybrid context parallelism gives each packed sequence."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, above_one

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


def own(sizes: Sizes) -> Own | None:
    """Give the rule's case to a finding about levels, which are what Transformer Engine asks for."""
    about = sizes.get("subject", "levels")
    return above_one("context_parallel_size", CASES)(sizes) if about == "levels" else None


REPRODUCER = Reproducer(
    "HCP008",
    CASES,
    own=own,
    missing="its clause about the group is Transformer Engine's assertion, its others are checks of training scripts",
)
