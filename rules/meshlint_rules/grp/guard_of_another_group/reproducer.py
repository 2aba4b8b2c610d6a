"""What shows GRP004."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

MEMBER = """\
dp = groups([[0, 1]])
embedding = [0]
loss = torch.tensor([rank + 1.0])
if rank in {guard}:
    dist.all_reduce(loss, group=dp)
dist.all_reduce(loss)
{after}"""
SIZE = """\
tp = groups([[0], [1]])
dp = groups([[0, 1]])
gradient = torch.tensor([rank + 1.0])
if dist.get_world_size({guard}) > 1:
    dist.all_reduce(gradient, group=dp)
check("gradient", gradient, 3.0)
"""

REPRODUCER = Reproducer(
    "GRP004",
    (
        Case(
            "member",
            "a collective of the data-parallel group behind the test for members of another group",
            2,
            Arm(MEMBER.format(guard="embedding", after=""), Happens.HANG),
            fixed(MEMBER.format(guard="dist.get_process_group_ranks(dp)", after='check("loss", loss, 6.0)\n')),
        ),
        Case(
            "size",
            "a collective of the data-parallel group behind a test of the size of the tensor-parallel group",
            2,
            Arm(SIZE.format(guard="tp"), Happens.WRONG),
            fixed(SIZE.format(guard="dp")),
        ),
    ),
)
