"""What shows MOE003: an error of the router of megatron-core."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import core_case

ROUTED = """\
from megatron.core.transformer.moe.moe_utils import topk_routing_with_score_function

probabilities, _ = topk_routing_with_score_function(torch.arange(12.0).view(3, 4), {k})
check("experts of each token", (probabilities > 0).sum() / 3, {k})
"""

REPRODUCER = Reproducer(
    "MOE003",
    (
        core_case(
            "router",
            "each token to five of four experts (failing) and to two (fixed)",
            ROUTED.format(k=5),
            ROUTED.format(k=2),
            "out of range",
        ),
    ),
    missing="the router is megatron-core's own, which must be installed",
)
