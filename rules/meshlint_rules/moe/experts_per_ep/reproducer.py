"""What shows MOE002."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

SPLIT = """\
experts, ep = {experts}, 2
mine = [rank * (experts // ep) + at for at in range(experts // ep)]
theirs = [None] * ep
dist.all_gather_object(theirs, mine)
check("experts that some rank holds", float(sum(len(one) for one in theirs)), experts)
"""
SAYS = "three experts over two expert-parallel ranks: the third is held by nobody"

REPRODUCER = Reproducer(
    "MOE002",
    (
        Case(
            "experts",
            SAYS,
            2,
            Arm(SPLIT.format(experts=3), Happens.WRONG),
            fixed(SPLIT.format(experts=4)),
            depths=(Depth.SIMULATE, Depth.CPU),
            runs="the arithmetic of megatron-core's split of experts, without its assertion",
        ),
    ),
)
