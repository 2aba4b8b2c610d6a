"""What shows OVL003: assertions of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.own import of_subject
from meshlint.reproduce.upstream import config_case

PLAIN = "num_moe_experts=4, expert_model_parallel_size=2, bf16=True, overlap_moe_expert_parallel_comm=True"

CASES = (
    config_case(
        "dispatcher",
        "the overlap of expert communication with the allgather dispatcher (failing) and with alltoall (fixed)",
        f"{PLAIN}, moe_token_dispatcher_type='allgather'",
        f"{PLAIN}, moe_token_dispatcher_type='alltoall'",
        error="supported with alltoall",
    ),
    config_case(
        "recompute",
        "the overlap of expert communication with full recompute (failing) and without (fixed)",
        f"{PLAIN}, moe_token_dispatcher_type='alltoall', recompute_granularity='full', "
        "recompute_method='uniform', recompute_num_layers=1",
        f"{PLAIN}, moe_token_dispatcher_type='alltoall'",
        error="disable full recomputation",
    ),
)

REPRODUCER = Reproducer(
    "OVL003",
    CASES,
    own=of_subject(CASES, {"moe_token_dispatcher_type": "dispatcher", "recompute_granularity": "recompute"}),
    missing="the assertions are megatron-core's own, which must be installed; the hang needs a torch below 2.6",
    sizeless="none of them is about this very setting",
)
