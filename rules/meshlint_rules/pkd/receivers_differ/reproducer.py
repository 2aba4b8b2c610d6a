"""What shows PKD007."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

BATCH = """\
tp = groups([[0, 1]])
lengths = torch.tensor([0, 3, 8] if rank == 0 else [0, 0, 0])

def batch(tokens):
    dist.broadcast(tokens, src=0, group=tp)
    if {packed}:
        dist.broadcast(lengths, src=0, group=tp)
    return tokens

"""
SLIDE = (
    BATCH
    + """\
for step in (1, 2):
    tokens = torch.tensor([step, step, step] if rank == 0 else [0, 0, 0])
    check("tokens", batch(tokens), [step, step, step])
"""
)
REDUCE = (
    BATCH
    + """\
batch(torch.tensor([1, 1, 1] if rank == 0 else [0, 0, 0]))
loss = torch.tensor([rank + 1.0])
dist.all_reduce(loss, group=tp)
check("loss", loss, 3.0)
"""
)
ONE, ALL = "rank == 0", "True"

REPRODUCER = Reproducer(
    "PKD007",
    (
        Case(
            "slides-by-one",
            "the first tensor rank sends the lengths behind the tokens, the other takes the tokens only, in every step",
            2,
            Arm(SLIDE.format(packed=ONE), Happens.WRONG),
            fixed(SLIDE.format(packed=ALL)),
        ),
        Case(
            "next-is-a-reduction",
            "the first tensor rank sends the lengths, the other goes on to an all_reduce of the same group",
            2,
            Arm(REDUCE.format(packed=ONE), Happens.MISMATCH, {Depth.CPU: Happens.HANG, Depth.GPU: Happens.HANG}),
            fixed(REDUCE.format(packed=ALL)),
        ),
    ),
)
