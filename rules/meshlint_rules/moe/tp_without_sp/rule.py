"""MOE001: experts under tensor parallelism without sequence parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.experts import has_experts, trains
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class TpWithoutSp(LaunchRule):
    """Experts trained under tensor parallelism without sequence parallelism.

    ## What it does

    Finds a model with experts that trains with tp > 1 and sequence parallelism off.

    ## Why this is bad

    megatron-core's MoE layer raises a ValueError in its first forward pass of training. Nothing refuses the setting
    before: arguments and model are accepted (with ep > 1 a warning is printed), and the job stops only after groups,
    model and data are there. Inference with the same setting runs.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-experts 8 --expert-model-parallel-size 4 --tensor-model-parallel-size 2
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-experts 8 --expert-model-parallel-size 4 --tensor-model-parallel-size 2 \\
        --sequence-parallel
    ```

    ## References/versions

    Every version so far.
    """

    code = "MOE001"
    slug = "tp-without-sp"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference(
            "megatron/core/transformer/moe/moe_layer.py:96-104 at core_v0.8.0; :379 at core_v0.16.1; :629, 0.19.0"
        ),
        Reference("megatron/core/model_parallel_config.py:440 at core_v0.16.1: a warning, with ep > 1 only"),
        Reference(
            "mcore_adapter/src/mcore_adapter/models/model_config.py:368 of ROLL at 8eb27cc2: switched on with "
            "tp and ep > 1"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for tp first: it is 1 in most configs."""
        tp = config.number("tensor_model_parallel_size")
        if tp <= 1 or config.data("sequence_parallel") or not trains(config) or not has_experts(config):
            return
        experts = config.number("num_moe_experts")
        written = config.value("sequence_parallel").span is not None
        yield Verdict(
            f"num_moe_experts = {experts} and tensor_model_parallel_size = {tp} without sequence_parallel: start-up "
            "passes, and every rank that holds a layer with experts raises a ValueError in the first forward pass of "
            "training.",
            Outcome.CRASH_LATE,
            at="sequence_parallel" if written else "tensor_model_parallel_size",
            fields=("tensor_model_parallel_size", "num_moe_experts", "sequence_parallel"),
            fix=Fix("Turn sequence_parallel on, or set tensor_model_parallel_size to 1."),
        )


RULE = TpWithoutSp
