"""What shows GRP002."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

TEXT = """\
half = world // 2
tp = groups([list(range(half)), list(range(half, world))])
tokens = torch.tensor([rank + 1.0])
dist.broadcast(tokens, src={source}, group=tp)
check("tokens", tokens, 1.0 if rank < half else half + 1.0)
"""
SAYS = "a broadcast in every tensor-parallel group from global rank 0, which is in the first of them only"
FAILING = Arm(TEXT.format(source="0"), Happens.CRASH, {Depth.SIMULATE: Happens.MISMATCH}, error="not part of")
FIXED = fixed(TEXT.format(source="dist.get_global_rank(tp, 0)"))
KIND = """\
dp = groups([[0, 2], [1, 3]])
tokens = torch.tensor([rank + 1.0])
last = dist.get_world_size(dp) - 1
dist.broadcast(tokens, src={source}, group=dp)
check("tokens", tokens, [3.0, 4.0][rank % 2])
"""

REPRODUCER = Reproducer(
    "GRP002",
    (
        Case("constant-source", SAYS, 4, FAILING, FIXED, depths=(Depth.SIMULATE, Depth.CPU)),
        Case("constant-source", SAYS, 2, FAILING, FIXED, depths=(Depth.GPU,)),
        Case(
            "group-rank-as-source",
            "the last rank of a group by its place in the group: no member in one group, another member in the other",
            4,
            Arm(KIND.format(source="last"), Happens.WRONG),
            fixed(KIND.format(source="dist.get_global_rank(dp, last)")),
        ),
    ),
)
