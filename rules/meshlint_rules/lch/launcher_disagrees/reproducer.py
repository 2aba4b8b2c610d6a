"""What shows LCH001."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

MET = """\
from datetime import timedelta
store = dist.distributed_c10d._get_default_store()
store.set(f"{name}-{{rank}}", "here")
store.wait([f"{name}-{{one}}" for one in range({expected})], timedelta(seconds=2))
check("ranks that have come", {expected}, world)
"""

REPRODUCER = Reproducer(
    "LCH001",
    (
        Case(
            "rendezvous",
            "a rendezvous of three (failing) and of two (fixed) where the job starts two",
            2,
            Arm(MET.format(name="three", expected=3), Happens.CRASH, error="imeout"),
            fixed(MET.format(name="two", expected=2)),
            depths=(Depth.CPU,),
            runs="torch's own store of keys, with the wait of a rendezvous and a limit of 2 s instead of minutes",
            alike=True,
        ),
    ),
    missing="the wait is that of torch's own store",
    sizeless="a rendezvous waits for whoever does not come, at any count",
)
