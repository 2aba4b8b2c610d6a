"""PAR010: optimizer instances that the ranks cannot share."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.sizes import (
    EXPERT_SHARDS,
    data_parallel,
    divisors,
    launched,
    positive,
    replica,
    weight_shards,
    world,
)
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

WITH_CP = Window(
    "megatron-core",
    since="0.11",
    says="instances divide dp * cp; before it dp alone",
    source="megatron/core/parallel_state.py:780-782 at core_v0.11.0; :728 at core_v0.10.0",
)
EXPERTS_TOO = Window(
    "megatron-core",
    since="0.13",
    says="instances divide the data parallel size of the experts too",
    source="megatron/core/parallel_state.py:1278 at core_v0.13.1; absent at core_v0.12.3",
)
COUNT = "num_distributed_optimizer_instances"
ETP, EP, PP = "expert_tensor_parallel_size", "expert_model_parallel_size", "pipeline_model_parallel_size"


class OptimizerInstances(LaunchRule):
    """Instances of the distributed optimizer that do not divide the ranks over which it is sharded.

    ## What it does

    Finds `num_distributed_optimizer_instances` that does not divide dp * cp, or, from megatron-core 0.13 on, the data
    parallel size of the experts. Frameworks that never hand the number to the group builder (verl, ms-swift, ROLL,
    AReaL) are left out.

    ## Why this is bad

    Each instance holds the optimizer's state once, over an equal part of the data parallel ranks. Nothing checks it
    among the arguments: megatron-core asserts it on every rank when it builds the groups.

    ## Example

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --use-distributed-optimizer --num-distributed-optimizer-instances 3
    ```

    ## Use instead

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --use-distributed-optimizer --num-distributed-optimizer-instances 2
    ```

    ## References/versions
    """

    code = "PAR010"
    slug = "optimizer-instances"
    outcomes = (Outcome.CRASH_START,)
    windows = (WITH_CP, EXPERTS_TOO)
    references = (
        Reference("megatron/core/parallel_state.py:833-837, :1263-1265 at core_v0.16.1; :922, :1447 at core_v0.19.0"),
        Reference("megatron/training/initialize.py:374 at core_v0.16.1 hands the number on; :309 at core_v0.10.0"),
    )
    frameworks = ("megatron-lm", "slime", "megatron-bridge", "nemo-rl", "nemo2")

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the instances first: there is one in most configs."""
        count = config.number(COUNT)
        if count <= 1:
            return
        dp, cp = data_parallel(config), positive(config, "context_parallel_size")
        shared, words = (dp * cp, "dp * cp") if config.within(WITH_CP) else (dp, "the data parallel size")
        if shared % count:
            yield _verdict(config, count, shared, words, replica(config).fields)
            return
        ep, etp = config.number(EP), config.data(ETP)
        if not isinstance(etp, int) or etp < 1 or ep < 1 or not config.within(EXPERTS_TOO):
            return
        grid = etp * ep * positive(config, PP) * weight_shards(config, EXPERT_SHARDS, etp)
        experts = world(config) // grid
        if world(config) % grid == 0 and experts % count:
            yield _verdict(config, count, experts, "the data parallel size of the experts", (EP, ETP, PP))


def _verdict(config: EffectiveConfig, count: int, shared: int, words: str, fields: tuple[str, ...]) -> Verdict:
    fitting = [str(size) for size in divisors(shared, count)]
    return Verdict(
        f"{COUNT} = {count} does not divide {words} = {shared}: megatron-core asserts it when it builds the process "
        "groups, and every rank stops.",
        Outcome.CRASH_START,
        at=COUNT,
        fields=fields,
        related=launched(config),
        fix=Fix(f"Set {COUNT} to {' or '.join(fitting[-3:])}."),
    )


RULE = OptimizerInstances
