"""MOE002: experts that expert parallelism cannot split."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.sizes import smaller_divisors
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class ExpertsPerEp(LaunchRule):
    """Experts that cannot be divided among the expert parallel ranks.

    ## What it does

    Finds `num_moe_experts` that is not a multiple of `expert_model_parallel_size`.

    ## Why this is bad

    Each expert parallel rank holds the same number of experts. Megatron-LM's command line asserts it among its
    arguments, and megatron-core's MoE layer, without a message, when the model is made; every rank stops at start.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-experts 12 --expert-model-parallel-size 8
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-experts 12 --expert-model-parallel-size 4
    ```

    ## References/versions

    Every version so far.
    """

    code = "MOE002"
    slug = "experts-per-ep"
    outcomes = (Outcome.CRASH_START,)
    references = (
        Reference("megatron/training/arguments.py:1027 at core_v0.16.1; :536 at core_v0.8.0; :1602 at core_v0.19.0"),
        Reference("megatron/core/transformer/moe/moe_layer.py:101 at core_v0.16.1; :36 at core_v0.8.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for ep first: it is 1 in most configs."""
        ep = config.number("expert_model_parallel_size")
        if ep <= 1 or config.data("num_moe_experts") is None:
            return
        experts = config.number("num_moe_experts")
        if experts <= 0 or experts % ep == 0:
            return
        sizes = smaller_divisors(experts, ep)
        yield Verdict(
            f"num_moe_experts = {experts} is not a multiple of expert_model_parallel_size = {ep}: an assertion "
            "about it fails before the first step, and every rank stops.",
            Outcome.CRASH_START,
            at="expert_model_parallel_size",
            fields=("num_moe_experts",),
            fix=Fix(f"Set expert_model_parallel_size to one of {sizes}, which divide the experts."),
        )


RULE = ExpertsPerEp
