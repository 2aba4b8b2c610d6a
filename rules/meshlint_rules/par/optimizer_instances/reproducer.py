"""What shows PAR010: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import groups_case

REPRODUCER = Reproducer(
    "PAR010",
    (
        groups_case(
            "instances",
            "three instances of the optimizer over two data-parallel ranks",
            "num_distributed_optimizer_instances=3",
            "num_distributed_optimizer_instances=2",
            error="Error",
        ),
    ),
    missing="the check is megatron-core's own, which must be installed",
)
