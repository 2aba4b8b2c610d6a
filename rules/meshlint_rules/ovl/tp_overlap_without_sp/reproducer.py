"""What shows OVL002."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import extracted_case

CHECKED = """\
args = dict(tp_comm_overlap=True, sequence_parallel={on})
if args["tp_comm_overlap"]:
    assert args["sequence_parallel"], "tp_comm_overlap wants sequence_parallel"
check("overlaps", 1.0, 1)
"""
LEFT_OFF = """\
config = dict(tp_comm_overlap=True, sequence_parallel={on})
overlaps = config["tp_comm_overlap"] and config["sequence_parallel"]
check("overlaps", float(overlaps), 1)
"""

REPRODUCER = Reproducer(
    "OVL002",
    (
        extracted_case(
            "checked",
            "tp_comm_overlap without sequence parallelism, on a command line",
            CHECKED.format(on=False),
            CHECKED.format(on=True),
            "the check of Megatron-LM's arguments, extracted (arguments.py:916 at core_v0.16.1)",
            happens=Happens.CRASH,
            error="sequence_parallel",
        ),
        extracted_case(
            "left-off",
            "tp_comm_overlap without sequence parallelism, where no arguments are checked: nothing overlaps",
            LEFT_OFF.format(on=False),
            LEFT_OFF.format(on=True),
            "the condition of Transformer Engine's layers, extracted (Linear.__init__ at v2.8)",
        ),
    ),
)
