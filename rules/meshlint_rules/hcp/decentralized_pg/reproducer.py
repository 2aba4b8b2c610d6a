"""What shows HCP004: what its silent side does; the assertion of later releases is Megatron-Bridge's own."""

from __future__ import annotations

from collections.abc import Sequence

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import without_groups

SAYS = "the two levels of groups are built into a collection, and the layer takes them from the global state"


def built(cp: int, levels: Sequence[int]) -> tuple[str, str]:
    """Write how the groups are built elsewhere, by the stand-in and by megatron-core."""
    sizes, ranks = list(levels), list(range(cp))
    return (
        f"built = levels({sizes})  # into a collection of groups that the layer does not ask\n",
        f"built, _ = parallel_state.create_hierarchical_groups(rank, {ranks}, {sizes})  # not in the global state\n",
    )


BUILT, REAL_BUILT = built(2, (2, 1))

REPRODUCER = Reproducer(
    "HCP004",
    attention_cases(
        "groups-elsewhere",
        SAYS,
        Setting("a2a+p2p", None, before=BUILT, real_before=REAL_BUILT),
        Setting("a2a+p2p", [2, 1]),
        Happens.WRONG,
    ),
    own=without_groups("groups-elsewhere", SAYS, built),
    missing="the error of Megatron-Bridge 0.4 and later is raised by its own code, which no case runs",
)
