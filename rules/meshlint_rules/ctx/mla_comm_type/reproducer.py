"""What shows CTX011, on the releases that it speaks of: later ones run the failing arm right."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

CASES = tuple(
    case
    for comm in ("a2a", "all_gather")
    for case in attention_cases(
        comm,
        f"keys 192 wide and values 128 wide with {comm} (failing) and with p2p (fixed), on Transformer Engine from "
        "2.5 to 2.14",
        Setting(comm, real={"wide": True}),
        Setting("p2p", real={"wide": True}),
        Happens.CRASH,
        stand_in=False,
        real_error="does not support MLA",
        releases=">=2.5,<2.15",
    )
)

REPRODUCER = Reproducer(
    "CTX011",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which exchange knows keys and values of two widths is for Transformer Engine to say",
)
