"""What shows COL002."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

HANG = """\
dp = groups([[0, 1]])

def validate(loss):
    if rank != 0:
        return
    dist.all_reduce(loss, group=dp)

validate(torch.tensor([1.0]))
dist.all_reduce(torch.tensor([1.0]))
"""
REPORTS = """\
dp = groups([[0, 1]])

def validate(loss):
    dist.all_reduce(loss, group=dp)
    if rank != 0:
        return
    check("loss", loss, 2.0)

validate(torch.tensor([1.0]))
dist.all_reduce(torch.tensor([1.0]))
"""
PAIRS = """\
def validate(loss):
    if rank != 0:
        return
    dist.all_reduce(loss)

validate(torch.tensor([7.0]))
gradient = torch.tensor([rank + 1.0])
dist.all_reduce(gradient)
check("gradient", gradient, 3.0)
"""
SUMS = """\
def validate(loss):
    dist.all_reduce(loss)
    if rank != 0:
        return

validate(torch.tensor([7.0]))
gradient = torch.tensor([rank + 1.0])
dist.all_reduce(gradient)
check("gradient", gradient, 3.0)
"""

REPRODUCER = Reproducer(
    "COL002",
    (
        Case(
            "hang",
            "a return before the collective on all ranks but the first, and then another group's turn",
            2,
            Arm(HANG, Happens.HANG),
            fixed(REPORTS),
        ),
        Case(
            "pairs-silently",
            "a return before the collective, and then one of the same shape on the same group",
            2,
            Arm(PAIRS, Happens.WRONG),
            fixed(SUMS),
        ),
    ),
)
