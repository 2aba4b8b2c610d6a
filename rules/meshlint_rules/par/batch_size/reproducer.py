"""What shows PAR008."""

from __future__ import annotations

from meshlint.reproduce.case import Own, Reproducer
from meshlint.reproduce.own import Sizes, data_parallel, numbers, told
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
CUT = "the arithmetic of megatron-core's counter of micro-batches, without its assertion"
SAYS = "a global batch of 10 in micro-batches of 3 on two data-parallel ranks"


def own(sizes: Sizes) -> Own | None:
    """Make the cases of a launch's batch; nothing needs more ranks than one."""
    found, dp = numbers(sizes, "global_batch_size", "micro_batch_size"), data_parallel(sizes)
    if found is None or dp is None or found[0] % (found[1] * dp) == 0:
        return None
    batch, micro = found
    says = f"a global batch of {batch} in micro-batches of {micro} on {dp} data-parallel ranks"
    right = batch // (micro * dp) * micro * dp or micro * dp
    counted, rounded = (
        [
            text.format(batch=count).replace("3, 2", f"{micro}, {dp}").replace("* 3 * 2", f"* {micro} * {dp}")
            for count in (batch, right)
        ]
        for text in (COUNTED, ROUNDED)
    )
    cases = (
        core_case("batch", says, counted[0], counted[1], "is not divisible by"),
        extracted_case("batch", f"{says}: samples that no whole round takes", rounded[0], rounded[1], CUT),
    )
    words = {"global_batch_size": batch, "micro_batch_size": micro, "data-parallel ranks": dp}
    return Own(cases, told(words, {}))


REPRODUCER = Reproducer(
    "PAR008",
    (
        core_case("counter", SAYS, COUNTED.format(batch=10), COUNTED.format(batch=12), "is not divisible by"),
        extracted_case(
            "rounded-down",
            f"{SAYS}: samples that no whole round of micro-batches takes, which the assertion is there for",
            ROUNDED.format(batch=10),
            ROUNDED.format(batch=12),
            CUT,
        ),
    ),
    own=own,
)
