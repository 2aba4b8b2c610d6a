"""What shows COL003: each way in which sender and receivers were seen to differ."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

COUNT = """\
if rank == 0:
    for part in (1.0, 2.0, 3.0):
        dist.broadcast(torch.tensor([part]), src=0)
else:
    for _ in range({taken}):
        dist.broadcast(torch.zeros(1), src=0)
loss = torch.tensor([rank + 1.0])
dist.all_reduce(loss)
check("loss", loss, 3.0)
"""
SLIDE = """\
for step in (1.0, 2.0, 3.0):
    sent = [step * 10 + part for part in range({sent})]
    got = []
    for part in range({sent} if rank == 0 else 2):
        key = torch.tensor([sent[part] if rank == 0 else 0.0])
        dist.broadcast(key, src=0)
        got.append(key.item())
    check("tokens", got[0], step * 10)
"""
LENGTH = """\
tokens = torch.ones({source} if rank == 0 else {receiver}, dtype=torch.int64)
if rank != 0:
    tokens.zero_()
dist.broadcast(tokens, src=0)
check("sum of tokens", tokens.sum(), {source} if rank == 0 else {wanted})
"""
TYPES = """\
tokens = torch.tensor([1, 2, 3, 4], dtype=torch.int64 if rank == 0 else torch.{receiver})
if rank != 0:
    tokens.zero_()
dist.broadcast(tokens, src=0)
check("tokens", tokens, [1, 2, 3, 4])
"""
ORDER = """\
tokens, labels = torch.zeros(1), torch.zeros(1)
if rank == 0:
    tokens.fill_(5.0)
    labels.fill_(6.0)
    dist.broadcast(tokens, src=0)
    dist.broadcast(labels, src=0)
else:
    dist.broadcast({first}, src=0)
    dist.broadcast({second}, src=0)
check("tokens", tokens, 5.0)
check("labels", labels, 6.0)
"""


def _lengths(source: int, receiver: int) -> str:
    return LENGTH.format(source=source, receiver=receiver, wanted=max(source, receiver))


MILLION = 1 << 20

REPRODUCER = Reproducer(
    "COL003",
    (
        Case(
            "one-broadcast-more",
            "three broadcasts on the sender and two on the receiver, and then an all_reduce on that group",
            2,
            Arm(COUNT.format(taken=2), Happens.MISMATCH, {Depth.CPU: Happens.HANG, Depth.GPU: Happens.HANG}),
            fixed(COUNT.format(taken=3)),
        ),
        Case(
            "slides-by-one",
            "three broadcasts on the sender and two on the receiver in every step, and nothing else on that group",
            2,
            Arm(SLIDE.format(sent=3), Happens.WRONG),
            fixed(SLIDE.format(sent=2)),
        ),
        Case(
            "source-longer",
            "the source broadcasts 8192 elements and the receiver takes 4096",
            2,
            Arm(_lengths(8192, 4096), Happens.MISMATCH, {Depth.CPU: Happens.CRASH, Depth.GPU: Happens.WRONG}),
            fixed(_lengths(8192, 8192)),
        ),
        Case(
            "receiver-longer",
            "the source broadcasts 4096 elements and the receiver takes 8192",
            2,
            Arm(_lengths(4096, 8192), Happens.MISMATCH, {Depth.CPU: Happens.WRONG, Depth.GPU: Happens.HANG}),
            fixed(_lengths(8192, 8192)),
        ),
        Case(
            "source-much-longer",
            "the source broadcasts 64 Mi elements and the receiver takes 32 Mi: half arrives, and the source hangs",
            2,
            Arm(_lengths(64 * MILLION, 32 * MILLION), Happens.WRONG),
            fixed(_lengths(64 * MILLION, 64 * MILLION)),
            depths=(Depth.GPU,),
        ),
        Case(
            "types-differ",
            "the source broadcasts int64 and the receiver takes int32",
            2,
            Arm(TYPES.format(receiver="int32"), Happens.MISMATCH, {Depth.CPU: Happens.CRASH, Depth.GPU: Happens.WRONG}),
            fixed(TYPES.format(receiver="int64")),
        ),
        Case(
            "order-swapped",
            "two broadcasts of equal shape, which the receiver takes in the other order",
            2,
            Arm(ORDER.format(first="labels", second="tokens"), Happens.WRONG),
            fixed(ORDER.format(first="tokens", second="labels")),
        ),
    ),
)
