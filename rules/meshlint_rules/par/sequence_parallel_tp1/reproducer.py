"""What shows PAR005: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import config_case

REPRODUCER = Reproducer(
    "PAR005",
    (
        config_case(
            "config",
            "sequence_parallel with tp = 1",
            "sequence_parallel=True",
            "sequence_parallel=False",
            error="sequence paral",
        ),
    ),
    missing="the check is megatron-core's own, which must be installed",
)
