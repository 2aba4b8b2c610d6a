"""What shows PAR012."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import extracted_case

CHECKED = """\
environment, tp, architecture = {{"CUDA_DEVICE_MAX_CONNECTIONS": "{value}"}}, 2, 9
if tp > 1 and architecture < 10:
    assert environment.get("CUDA_DEVICE_MAX_CONNECTIONS") == "1", "tensor parallelism wants one connection"
check("connections", float(environment["CUDA_DEVICE_MAX_CONNECTIONS"]), 1)
"""

REPRODUCER = Reproducer(
    "PAR012",
    (
        extracted_case(
            "tensor-parallel",
            "eight connections (failing) and one (fixed) with tp = 2 on a GPU before Blackwell",
            CHECKED.format(value=8),
            CHECKED.format(value=1),
            "the check of Megatron-LM's arguments, extracted (arguments.py:925-953 at core_v0.16.1)",
            happens=Happens.CRASH,
            error="one connection",
        ),
    ),
)
