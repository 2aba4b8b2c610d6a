"""What shows HCP010: a level of one rank leaves the other algorithm alone."""

from __future__ import annotations

from math import prod

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, levels_alike, listed, told


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's one level that is wide."""
    levels = listed(sizes)
    small = levels_alike(levels) if len(levels) == 2 and 1 in levels else None
    if small is None:
        return None
    comm, cp = "p2p" if small[0] == 1 else "a2a", prod(small)
    says = f"a2a+p2p with sizes {list(small)} (failing) and plain {comm} (fixed) give the same right values"
    cases = attention_cases(
        f"{comm}-by-another-name", says, Setting("a2a+p2p", small, cp=cp), Setting(comm, cp=cp), Happens.OK
    )
    return Own(cases, told({"levels": list(levels)}, {"levels": (list(levels), list(small))}))


REPRODUCER = Reproducer(
    "HCP010",
    (
        *attention_cases(
            "p2p-by-another-name",
            "a2a+p2p with sizes [1, 2] (failing) and plain p2p (fixed) give the same right values",
            Setting("a2a+p2p", [1, 2]),
            Setting("p2p"),
            Happens.OK,
        ),
        *attention_cases(
            "a2a-by-another-name",
            "a2a+p2p with sizes [2, 1] (failing) and plain a2a (fixed) give the same right values",
            Setting("a2a+p2p", [2, 1]),
            Setting("a2a"),
            Happens.OK,
        ),
    ),
    own=own,
)
