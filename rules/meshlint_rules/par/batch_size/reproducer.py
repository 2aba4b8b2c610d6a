"""What shows PAR008."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import core_case, extracted_case

COUNTED = """\
from megatron.core.num_microbatches_calculator import ConstantNumMicroBatchesCalculator

counter = ConstantNumMicroBatchesCalculator({batch}, 3, 2, False, 0)
check("samples in a step", counter.get() * 3 * 2, {batch})
"""
ROUNDED = """\
batch, micro, dp = {batch}, 3, 2
check("samples in a step", float(batch // (micro * dp) * micro * dp), batch)
"""
SAYS = "a global batch of 10 in micro-batches of 3 on two data-parallel ranks"

REPRODUCER = Reproducer(
    "PAR008",
    (
        core_case("counter", SAYS, COUNTED.format(batch=10), COUNTED.format(batch=12), "is not divisible by"),
        extracted_case(
            "rounded-down",
            f"{SAYS}: samples that no whole round of micro-batches takes, which the assertion is there for",
            ROUNDED.format(batch=10),
            ROUNDED.format(batch=12),
            "the arithmetic of megatron-core's counter of micro-batches, without its assertion",
        ),
    ),
)
