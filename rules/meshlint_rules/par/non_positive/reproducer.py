"""What shows PAR009."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import core_case, extracted_case, groups_case

COUNTED = """\
from megatron.core.num_microbatches_calculator import ConstantNumMicroBatchesCalculator

counter = ConstantNumMicroBatchesCalculator(12, {micro}, 2, False, 0)
check("micro-batches in a step", counter.get(), 6)
"""
DIVIDED = """\
ranks, tp = 2, {tp}
check("data-parallel ranks", float(ranks // tp), 2)
"""

REPRODUCER = Reproducer(
    "PAR009",
    (
        groups_case(
            "tensor-parallel",
            "groups of 0 tensor-parallel ranks",
            "tensor_model_parallel_size=0",
            "tensor_model_parallel_size=1",
            error="ZeroDivisionError",
        ),
        core_case(
            "micro-batch",
            "micro-batches of 0 samples",
            COUNTED.format(micro=0),
            COUNTED.format(micro=1),
            "ZeroDivisionError",
        ),
        extracted_case(
            "division",
            "ranks divided by tp = 0",
            DIVIDED.format(tp=0),
            DIVIDED.format(tp=1),
            "the division of megatron-core's groups",
            happens=Happens.CRASH,
            error="ZeroDivisionError",
        ),
    ),
)
