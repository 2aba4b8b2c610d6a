"""What shows COL004."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

ROUNDS = """\
dp = groups([[0, 1]])
batches = [3, 2][rank]
{agree}loss = torch.tensor([1.0])
for _ in range(batches):
    dist.all_reduce(loss, group=dp)
dist.all_reduce(loss)
check("loss", loss, 8.0)
"""
AGREE = """\
fewest = torch.tensor([batches])
dist.all_reduce(fewest, op=dist.ReduceOp.MIN, group=dp)
batches = int(fewest.item())
"""
PAIRS = """\
loss = torch.tensor([rank + 1.0])
for _ in range([2, 1][rank] if {own} else 1):
    dist.all_reduce(torch.tensor([100.0]))
dist.all_reduce(loss)
check("loss", loss, 3.0)
"""

REPRODUCER = Reproducer(
    "COL004",
    (
        Case(
            "hang",
            "one rank has a batch more, makes one round more, and then another group's turn",
            2,
            Arm(ROUNDS.format(agree=""), Happens.HANG),
            fixed(ROUNDS.format(agree=AGREE)),
        ),
        Case(
            "pairs-silently",
            "one rank makes one round more, and then a call of the same shape follows on the same group",
            2,
            Arm(PAIRS.format(own=True), Happens.WRONG),
            fixed(PAIRS.format(own=False)),
        ),
    ),
)
