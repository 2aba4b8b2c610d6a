"""What shows GRP003."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

TEXT = """\
half = world // 2
tp = groups([list(range(half)), list(range(half, world))])

def mean(value, group):
    dist.all_reduce(value, group=group)
    return value.item() / dist.get_world_size({forwarded})

check("mean over the group", mean(torch.tensor([rank + 1.0]), tp), 1.0 + (half - 1) / 2 + half * (rank >= half))
"""
SAYS = "a function sums over the group that it was given and divides by the size of the world"
FAILING, FIXED = Arm(TEXT.format(forwarded=""), Happens.WRONG), fixed(TEXT.format(forwarded="group"))

REPRODUCER = Reproducer(
    "GRP003",
    (
        Case("size-of-the-world", SAYS, 4, FAILING, FIXED, depths=(Depth.SIMULATE, Depth.CPU)),
        Case("size-of-the-world", SAYS, 2, FAILING, FIXED, depths=(Depth.GPU,)),
    ),
)
