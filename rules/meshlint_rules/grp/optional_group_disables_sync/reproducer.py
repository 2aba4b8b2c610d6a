"""What shows GRP005."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

TEXT = """\
dp = groups([[0, 1]])

def agreed(stop, group=None):
    if group is not None:
        dist.all_reduce(stop, op=dist.ReduceOp.MAX, group=group)
    return stop.item() > 0

stop = torch.tensor([[1, 0][rank]])
if not agreed(stop{group}):
    dist.all_reduce(torch.tensor([1.0]), group=dp)
dist.all_reduce(torch.tensor([1.0]))
"""

REPRODUCER = Reproducer(
    "GRP005",
    (
        Case(
            "hang",
            "ranks decide to stop by a helper that agrees only if it is given a group, and it is not",
            2,
            Arm(TEXT.format(group=""), Happens.HANG),
            fixed(TEXT.format(group=", group=dp")),
        ),
    ),
)
