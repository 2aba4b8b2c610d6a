"""What shows HCP007: the same values with the sizes and without."""

from __future__ import annotations

from math import prod

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, levels_alike, listed, told


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's exchange beside its levels."""
    levels, written = listed(sizes), sizes.get("cp_comm_type")
    comm = written[0] if isinstance(written, list) and len(written) == 1 else written
    small = levels_alike(levels) if len(levels) == 2 else None
    if small is None or comm not in ("p2p", "a2a"):
        return None
    cp = prod(small)
    failing, right = (Setting(comm, made, cp=cp, seq=4 * cp) for made in (small, None))
    says = f"levels {list(small)} beside {comm}: the same right values with them (failing) and without them (fixed)"
    cases = attention_cases("sizes-unused", says, failing, right, Happens.OK)
    return Own(cases, told({"levels": list(levels), "cp_comm_type": comm}, {"levels": (list(levels), list(small))}))


REPRODUCER = Reproducer(
    "HCP007",
    attention_cases(
        "sizes-with-p2p",
        "sizes beside p2p: the same right values with them (failing) and without them (fixed), so they do nothing",
        Setting("p2p", [2, 1]),
        Setting("p2p", None),
        Happens.OK,
    ),
    own=own,
)
