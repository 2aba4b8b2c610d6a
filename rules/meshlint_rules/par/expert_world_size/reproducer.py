"""What shows PAR002: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import groups_case

REPRODUCER = Reproducer(
    "PAR002",
    (
        groups_case(
            "product",
            "a job of 2 ranks with ep = 4",
            "expert_model_parallel_size=4",
            "expert_model_parallel_size=2",
            error="divisible by",
        ),
    ),
    missing="the check is megatron-core's own, which must be installed",
)
