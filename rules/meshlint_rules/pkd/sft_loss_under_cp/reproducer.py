"""What shows PKD006."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed
from meshlint.reproduce.own import above_one

LOSSES = """\
losses = [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [7.0, 7.0]][rank]  # of the answer's tokens in this rank's part
right = 20.0 / 8
"""
MEANS = (
    LOSSES
    + """\
loss = torch.tensor([sum(losses) / len(losses)])
dist.all_reduce(loss)
check("loss", loss / world, right)
"""
)
SUMS = (
    LOSSES
    + """\
loss = torch.tensor([sum(losses), float(len(losses))])
dist.all_reduce(loss)
check("loss", loss[0].item() / loss[1].item(), right)
"""
)

CASES = (
    Case(
        "mean-of-means",
        "the mean of the ranks' mean losses, where context parallelism gave one rank 6 answer tokens and one 2",
        2,
        Arm(MEANS, Happens.WRONG),
        fixed(SUMS),
    ),
)

REPRODUCER = Reproducer("PKD006", CASES, own=above_one("context_parallel_size", CASES))
