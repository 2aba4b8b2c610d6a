"""What shows HCP003."""

from __future__ import annotations

from math import prod

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, levels_alike, listed, told


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's number of levels."""
    levels = listed(sizes)
    small = levels_alike(levels) if len(levels) != 2 else None
    if small is None:
        return None
    cp = prod(small)
    failing, right = (Setting("a2a+p2p", made, cp=cp, seq=4 * cp) for made in (small, (2, cp // 2)))
    says = f"a2a+p2p with levels {list(small)}"
    cases = attention_cases("levels", says, failing, right, Happens.CRASH, real_error="AssertionError")
    return Own(cases, told({"levels": list(levels)}, {"levels": (list(levels), list(small))}))


REPRODUCER = Reproducer(
    "HCP003",
    (
        *attention_cases(
            "one-level",
            "a2a+p2p with one level of groups",
            Setting("a2a+p2p", [2]),
            Setting("a2a+p2p", [2, 1]),
            Happens.CRASH,
            real_error="AssertionError",
        ),
        *attention_cases(
            "three-levels",
            "a2a+p2p with three levels of groups",
            Setting("a2a+p2p", [2, 1, 1]),
            Setting("a2a+p2p", [2, 1]),
            Happens.CRASH,
            real_error="AssertionError",
        ),
    ),
    own=own,
)
