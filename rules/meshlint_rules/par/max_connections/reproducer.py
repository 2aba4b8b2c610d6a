"""What shows PAR012."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import arguments_case, extracted_case

READ = """\
args = read("--tensor-model-parallel-size 2", connections={value})
check("connections", float(os.environ["CUDA_DEVICE_MAX_CONNECTIONS"]), 1)
"""
CHECKED = """\
environment, tp, architecture = {{"CUDA_DEVICE_MAX_CONNECTIONS": "{value}"}}, 2, 9
if tp > 1 and architecture < 10:
    assert environment.get("CUDA_DEVICE_MAX_CONNECTIONS") == "1", "tensor parallelism wants one connection"
check("connections", float(environment["CUDA_DEVICE_MAX_CONNECTIONS"]), 1)
"""
SAYS = "eight connections (failing) and one (fixed) with tp = 2 on a GPU before Blackwell"

REPRODUCER = Reproducer(
    "PAR012",
    (
        arguments_case(
            "tensor-parallel", SAYS, READ.format(value=8), READ.format(value=1), "CUDA_DEVICE_MAX_CONNECTIONS to 1"
        ),
        extracted_case(
            "tensor-parallel",
            SAYS,
            CHECKED.format(value=8),
            CHECKED.format(value=1),
            "the check of Megatron-LM's arguments, extracted (arguments.py:925-953 at core_v0.16.1)",
            happens=Happens.CRASH,
            error="one connection",
        ),
    ),
    sizeless="the variable is checked alike at any size",
)
