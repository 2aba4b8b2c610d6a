"""What shows MOE003: an error of the router of megatron-core."""

from __future__ import annotations

from meshlint.reproduce.case import Own, Reproducer
from meshlint.reproduce.own import Sizes, numbers, told
from meshlint.reproduce.upstream import core_case

MOST = 4096
"""Experts that one row of scores may have."""

ROUTED = """\
from megatron.core.transformer.moe.moe_utils import topk_routing_with_score_function

probabilities, _ = topk_routing_with_score_function(torch.arange({experts}.0)[None], {k})
check("experts of each token", (probabilities > 0).sum(), {k})
"""


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's experts; nothing needs more ranks than one."""
    found = numbers(sizes, "num_moe_experts", "moe_router_topk")
    if found is None or found[1] <= found[0] or found[0] > MOST:
        return None
    experts, k = found
    says = f"each token to {k} of {experts} experts (failing) and to one (fixed)"
    failing, right = (ROUTED.format(experts=experts, k=count) for count in (k, 1))
    return Own(
        (core_case("router", says, failing, right, "out of range"),),
        told({"num_moe_experts": experts, "moe_router_topk": k}, {}),
    )


REPRODUCER = Reproducer(
    "MOE003",
    (
        core_case(
            "router",
            "each token to five of four experts (failing) and to two (fixed)",
            ROUTED.format(experts=4, k=5),
            ROUTED.format(experts=4, k=2),
            "out of range",
        ),
    ),
    own=own,
    missing="the router is megatron-core's own, which must be installed",
)
