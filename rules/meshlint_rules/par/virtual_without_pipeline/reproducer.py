"""What shows PAR007: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import groups_case

REPRODUCER = Reproducer(
    "PAR007",
    (
        groups_case(
            "one-stage",
            "two virtual stages with one pipeline stage",
            "virtual_pipeline_model_parallel_size=2",
            "virtual_pipeline_model_parallel_size=None",
            error="pipeline-model-parallel size should be greater than 1",
        ),
    ),
    missing="the check is megatron-core's own, which must be installed",
)
