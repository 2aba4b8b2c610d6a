"""MOE003: more experts a token than there are."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.experts import has_experts
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class Topk(LaunchRule):
    """A router that sends each token to more experts than there are.

    ## What it does

    Finds `moe_router_topk` above `num_moe_experts`.

    ## Why this is bad

    No argument check compares the two. The router asks torch for the k largest of fewer than k scores, which raises a
    RuntimeError (`selected index k out of range`) in the first forward pass, on every rank with a layer of experts.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-experts 4 --moe-router-topk 8
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-experts 4 --moe-router-topk 2
    ```

    ## References/versions

    Every version so far.
    """

    code = "MOE003"
    slug = "topk"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference("megatron/core/transformer/moe/moe_utils.py:266-273 at core_v0.10.0; :697 at core_v0.16.1"),
        Reference("no comparison in transformer_config.py or arguments.py from core_v0.8.0 to core_v0.19.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Compare the two."""
        if not has_experts(config):
            return
        experts, topk = config.number("num_moe_experts"), config.number("moe_router_topk")
        if topk <= experts:
            return
        written = config.value("moe_router_topk").span is not None
        yield Verdict(
            f"moe_router_topk = {topk} asks for more experts than num_moe_experts = {experts}: start-up passes, and "
            "every rank that holds a layer with experts stops in the router in the first forward pass.",
            Outcome.CRASH_LATE,
            at="moe_router_topk" if written else "num_moe_experts",
            fields=("num_moe_experts", "moe_router_topk"),
            fix=Fix(f"Set moe_router_topk to at most {experts}."),
        )


RULE = Topk
