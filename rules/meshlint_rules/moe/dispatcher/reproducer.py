"""What shows MOE004: an error of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import config_case

PLAIN = "num_moe_experts=4, add_bias_linear=False, tensor_model_parallel_size=2, moe_enable_deepep=True"

REPRODUCER = Reproducer(
    "MOE004",
    (
        config_case(
            "deepep",
            "DeepEP with the alltoall dispatcher (failing) and with the flex one (fixed)",
            f"{PLAIN}, moe_token_dispatcher_type='alltoall'",
            f"{PLAIN}, moe_token_dispatcher_type='flex'",
            error="only supported with flex",
        ),
    ),
    missing="the check is megatron-core's own, which must be installed",
)
