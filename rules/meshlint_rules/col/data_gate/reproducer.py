"""What shows COL006."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

FAILING = """\
dp = groups([[0, 1]])
samples = [[4.0], []][rank]
total = torch.tensor([sum(samples)])
if samples:
    dist.all_reduce(total, group=dp)
dist.all_reduce(total)
"""
FIXED = """\
dp = groups([[0, 1]])
samples = [[4.0], []][rank]
total = torch.tensor([float(sum(samples))])
dist.all_reduce(total, group=dp)
dist.all_reduce(total)
check("total", total, 8.0)
"""

REPRODUCER = Reproducer(
    "COL006",
    (
        Case(
            "hang",
            "a rank whose share of the data is empty leaves the collective out",
            2,
            Arm(FAILING, Happens.HANG),
            fixed(FIXED),
        ),
    ),
)
