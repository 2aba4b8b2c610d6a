"""Micro-batches of one optimizer step, where a framework cuts a global batch of samples evenly."""

from __future__ import annotations

from meshlint.config.effective import EffectiveConfig
from meshlint.config.sizes import SHARDS, data_parallel, positive, weight_shards
from meshlint.records import dataclass

GLOBAL = "global_batch_size"
MICRO = "micro_batch_size"


@dataclass(frozen=True, slots=True)
class Step:
    """One optimizer step: samples of the global batch and of a micro-batch, and replicas of the model."""

    whole: int
    micro: int
    replicas: int


def per_step(config: EffectiveConfig) -> Step | None:
    """Give the batches of a step; None where the framework cuts them otherwise, or the batch is not the same each step.

    Ends the rule where a batch or the ranks are unknown.
    """
    if not config.habit("counts_micro_batches") or config.data("training") is False:
        return None
    if config.data(GLOBAL) is None or config.data(MICRO) is None:
        return None
    if config.data("decrease_batch_size_if_needed"):
        return None
    if config.data("rampup_batch_size") is not None or config.data("step_batch_size_schedule") is not None:
        return None
    # ranks that hold other shards of a weight have samples of their own: training/global_vars.py:131 at core_v0.19.0
    shards = weight_shards(config, SHARDS, positive(config, "tensor_model_parallel_size"))
    return Step(positive(config, GLOBAL), positive(config, MICRO), data_parallel(config) * shards)
