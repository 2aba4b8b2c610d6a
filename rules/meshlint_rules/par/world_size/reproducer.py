"""What shows PAR001: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import groups_case

REPRODUCER = Reproducer(
    "PAR001",
    (
        groups_case(
            "product",
            "a job of 2 ranks with tp = 2 and cp = 2",
            "tensor_model_parallel_size=2, context_parallel_size=2",
            "tensor_model_parallel_size=2",
            error="is not divisible by",
        ),
    ),
    missing="the check is megatron-core's own, which must be installed",
)
