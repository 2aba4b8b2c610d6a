"""What shows PKD001."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Happens, Reproducer, fixed

ATTEND = '''\
def attend(values, lengths):
    """Causal attention of equal weights: each token takes the mean of what it may see of its document."""
    seen, start = [], 0
    for length in lengths or [len(values)]:
        document = values[start : start + length]
        seen += [sum(document[: at + 1]) / (at + 1) for at in range(length)]
        start += length
    return seen
'''
STAGES = """\
tokens, packed = [1.0, 2.0, 3.0, 40.0, 50.0, 60.0, 70.0, 80.0], [3, 5]
lengths = packed if {reaches} else None
hidden = torch.tensor(tokens)
if rank == 1:
    dist.recv(hidden, src=0)
hidden = torch.tensor(attend(hidden.tolist(), lengths))
if rank == 0:
    dist.send(hidden, dst=1)
else:
    check("hidden states", hidden, attend(attend(tokens, packed), packed))
"""

LENGTHS = (700, 300, 1048)

REPRODUCER = Reproducer(
    "PKD001",
    (
        *attention_cases(
            "attention",
            "three documents in one row, and the second rank attends without their lengths",
            Setting("p2p", real={"cp": 1, "lengths": LENGTHS, "packed": "rank == 0"}),
            Setting("p2p", real={"cp": 1, "lengths": LENGTHS}),
            Happens.WRONG,
            stand_in=False,
        ),
        Case(
            "second-stage",
            "two documents in one row, and the second pipeline stage attends without their lengths",
            2,
            Arm(STAGES.format(reaches="rank == 0"), Happens.WRONG),
            fixed(STAGES.format(reaches="True")),
            prelude=ATTEND,
        ),
    ),
)
