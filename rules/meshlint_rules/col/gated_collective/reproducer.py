"""What shows COL001."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

HANG = """\
cp = groups([[0, 1]])
loss = torch.tensor([rank + 1.0])
if dist.get_rank(cp) == 0:
    dist.all_reduce(loss, group=cp)
dist.all_reduce(loss)
"""
EVERYBODY = """\
cp = groups([[0, 1]])
loss = torch.tensor([rank + 1.0])
dist.all_reduce(loss, group=cp)
dist.all_reduce(loss)
check("loss", loss, 6.0)
"""
PAIRS = """\
for step in (1.0, 2.0, 3.0):
    loss = torch.tensor([(rank + 1) * step])
    if rank == 0:
        dist.all_reduce(torch.tensor([1000.0]))
    dist.all_reduce(loss)
    check("loss", loss, 3 * step)
"""
STEPS = """\
for step in (1.0, 2.0, 3.0):
    loss = torch.tensor([(rank + 1) * step])
    dist.all_reduce(torch.tensor([1000.0]))
    dist.all_reduce(loss)
    check("loss", loss, 3 * step)
"""
SIZES = """\
if rank == 0:
    dist.all_reduce(torch.ones(1))
gradients = torch.ones(1024)
dist.all_reduce(gradients)
check("gradients", gradients.sum(), 2048.0)
"""
EQUAL = """\
dist.all_reduce(torch.ones(1))
gradients = torch.ones(1024)
dist.all_reduce(gradients)
check("gradients", gradients.sum(), 2048.0)
"""

REPRODUCER = Reproducer(
    "COL001",
    (
        Case(
            "hang",
            "one rank's extra all_reduce on its group, and then another group's turn",
            2,
            Arm(HANG, Happens.HANG),
            fixed(EVERYBODY),
        ),
        Case(
            "pairs-silently",
            "one rank's extra all_reduce, and then one of the same shape on the same group, in every step",
            2,
            Arm(PAIRS, Happens.WRONG),
            fixed(STEPS),
        ),
        Case(
            "sizes-differ",
            "one rank's extra all_reduce of one element, and then one of another size on the same group",
            2,
            Arm(SIZES, Happens.MISMATCH, {Depth.CPU: Happens.CRASH, Depth.GPU: Happens.HANG}),
            fixed(EQUAL),
        ),
    ),
)
