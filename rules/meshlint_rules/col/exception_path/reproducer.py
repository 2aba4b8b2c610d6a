"""What shows COL005."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

FAILING = """\
dp = groups([[0, 1]])
record = ["12", "x"][rank]
loss = torch.tensor([1.0])
try:
    loss = torch.tensor([float(record)])
    dist.all_reduce(loss, group=dp)
except ValueError:
    pass
dist.all_reduce(loss)
"""
FIXED = """\
dp = groups([[0, 1]])
record = ["12", "x"][rank]
loss = torch.tensor([0.0])
try:
    loss = torch.tensor([float(record)])
except ValueError:
    pass
dist.all_reduce(loss, group=dp)
dist.all_reduce(loss)
check("loss", loss, 24.0)
"""

REPRODUCER = Reproducer(
    "COL005",
    (
        Case(
            "hang",
            "a record that one rank cannot read takes it past the collective, into the handler",
            2,
            Arm(FAILING, Happens.HANG),
            fixed(FIXED),
        ),
    ),
)
