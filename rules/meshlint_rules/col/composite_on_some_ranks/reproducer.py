"""What shows COL007."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

SAVE = """\
dp = groups([[0, 1]])
shard = torch.tensor([rank + 1.0])

def save_checkpoint():
    shards = [torch.zeros(1), torch.zeros(1)]
    dist.all_gather(shards, shard, group=dp)
    return [part.item() for part in shards]

"""
FAILING = (
    SAVE
    + """\
if rank == 0:
    saved = save_checkpoint()
dist.all_reduce(torch.tensor([1.0]))
"""
)
FIXED = (
    SAVE
    + """\
saved = save_checkpoint()
if rank == 0:
    check("saved", saved, [1.0, 2.0])
dist.all_reduce(torch.tensor([1.0]))
"""
)

REPRODUCER = Reproducer(
    "COL007",
    (
        Case(
            "hang",
            "a checkpoint of shards, which gathers them, is saved by the first rank alone",
            2,
            Arm(FAILING, Happens.HANG),
            fixed(FIXED),
        ),
    ),
)
