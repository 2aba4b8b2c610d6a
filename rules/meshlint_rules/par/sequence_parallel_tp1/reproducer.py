"""What shows PAR005: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Own, Reproducer
from meshlint.reproduce.own import Sizes, told
from meshlint.reproduce.upstream import config_case

TP = "tensor_model_parallel_size"
CASES = (
    config_case(
        "config",
        "sequence_parallel with tp = 1",
        f"{TP}=1, sequence_parallel=True",
        f"{TP}=1, sequence_parallel=False",
        error="sequence paral",
    ),
)


def own(sizes: Sizes) -> Own | None:
    """Give the rule's case, which has the only sizes that show it."""
    if sizes.get(TP) != 1 or sizes.get("sequence_parallel") is not True:
        return None
    return Own(CASES, told({TP: 1, "sequence_parallel": "on"}, {}))


REPRODUCER = Reproducer("PAR005", CASES, own=own, missing="the check is megatron-core's own, which must be installed")
