"""What shows CGR001: assertions of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.own import of_subject
from meshlint.reproduce.upstream import config_case

CASES = (
    config_case(
        "recompute",
        "CUDA graphs of layers with full recompute (failing) and without (fixed)",
        "cuda_graph_impl='local', recompute_granularity='full', recompute_method='uniform', recompute_num_layers=1",
        "cuda_graph_impl='local'",
        error="full recompute is only supported with full iteration",
    ),
    config_case(
        "scopes",
        "CUDA graphs of moe and moe_router, which hold the same router (failing), and of attention alone (fixed)",
        "num_moe_experts=4, add_bias_linear=False, cuda_graph_impl='local', cuda_graph_scope=['moe', 'moe_router']",
        "num_moe_experts=4, add_bias_linear=False, cuda_graph_impl='local', cuda_graph_scope=['attn']",
        error="must not contain both",
    ),
)

REPRODUCER = Reproducer(
    "CGR001",
    CASES,
    own=of_subject(CASES, {"recompute_granularity": "recompute", "cuda_graph_modules": "scopes"}),
    missing="the assertions are megatron-core's own, which must be installed",
    sizeless="none of them is about this very setting",
)
