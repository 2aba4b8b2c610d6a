"""What shows HCP004: what its silent side does; the assertion of later releases is Megatron-Bridge's own."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer

BUILT = "built = levels([2, 1])  # into a collection of groups that the layer does not ask\n"
REAL_BUILT = """\
built, _ = parallel_state.create_hierarchical_groups(rank, [0, 1], [2, 1])  # not in the global state
"""

REPRODUCER = Reproducer(
    "HCP004",
    attention_cases(
        "groups-elsewhere",
        "the two levels of groups are built into a collection, and the layer takes them from the global state",
        Setting("a2a+p2p", None, before=BUILT, real_before=REAL_BUILT),
        Setting("a2a+p2p", [2, 1]),
        Happens.WRONG,
    ),
    missing="the error of Megatron-Bridge 0.4 and later is raised by its own code, which no case runs",
)
