"""What shows OVL001."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import extracted_case

CHECKED = """\
args = dict(overlap_param_gather=True, use_distributed_optimizer={optimizer}, overlap_grad_reduce={reduce})
if args["overlap_param_gather"]:
    assert args["use_distributed_optimizer"], "overlap_param_gather wants the distributed optimizer"
    assert args["overlap_grad_reduce"], "overlap_param_gather wants overlap_grad_reduce"
check("gathers that overlap", 1.0, 1)
"""
HOOKED = """\
config = dict(overlap_param_gather=True, use_distributed_optimizer={optimizer})
hooked = config["use_distributed_optimizer"] and config["overlap_param_gather"]
check("gathers that overlap", float(hooked), 1)
"""
SAYS = "overlap_param_gather without"

REPRODUCER = Reproducer(
    "OVL001",
    (
        extracted_case(
            "grad-reduce",
            f"{SAYS} overlap_grad_reduce, on a command line",
            CHECKED.format(optimizer=True, reduce=False),
            CHECKED.format(optimizer=True, reduce=True),
            "the check of Megatron-LM's arguments, extracted (arguments.py:597-603 at core_v0.16.1)",
            happens=Happens.CRASH,
            error="overlap_grad_reduce",
        ),
        extracted_case(
            "no-optimizer",
            f"{SAYS} the distributed optimizer, where no arguments are checked: nothing overlaps",
            HOOKED.format(optimizer=False),
            HOOKED.format(optimizer=True),
            "the condition of megatron-core's hooks, extracted (distributed_data_parallel.py:239 at core_v0.16.1)",
        ),
    ),
)
