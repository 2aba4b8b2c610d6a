"""What shows GRP001."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

TEXT = """\
{gate}first = dist.new_group([0])
both = dist.new_group([0, 1])
loss = torch.tensor([rank + 1.0])
dist.all_reduce(loss, group=both)
check("loss", loss, 3.0)
"""

REPRODUCER = Reproducer(
    "GRP001",
    (
        Case(
            "members-alone",
            "only the member of a new group makes it, so that the next group bears another number on that rank",
            2,
            Arm(TEXT.format(gate="if rank == 0:\n    "), Happens.HANG, {Depth.SIMULATE: Happens.MISMATCH}),
            fixed(TEXT.format(gate="")),
        ),
    ),
)
