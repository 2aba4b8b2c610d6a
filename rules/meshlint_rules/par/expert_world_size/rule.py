"""PAR002: ranks that the sizes of the experts do not divide."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.sizes import (
    ENCODER_APART,
    EXPERT_SHARDS,
    TEMPLATE,
    WEIGHT_SHARDS,
    data_parallel,
    divisors,
    grows,
    launched,
    on_nodes,
    place_of,
    positive,
    replica,
    weight_shards,
    world,
)
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Window

GRID = Window(
    "megatron-core",
    since="0.10",
    says="experts have a grid of their own, etp * ep * pp",
    source="megatron/core/parallel_state.py:645-652 at core_v0.10.0; before it dp % ep, :536 at core_v0.9.0",
)
EP = "expert_model_parallel_size"
ETP = "expert_tensor_parallel_size"
PP = "pipeline_model_parallel_size"


class ExpertWorldSize(LaunchRule):
    """A number of ranks that the parallel sizes of the experts do not divide.

    ## What it does

    Finds a number of launched ranks that is not a multiple of etp * ep * pp. An `expert_tensor_parallel_size` that
    nobody writes is tp, except where the framework says otherwise: it is 1 in ms-swift, and in Megatron-Bridge from
    0.6 on with ep above 1. Before megatron-core 0.10, ep has to divide the data parallel size.

    ## Why this is bad

    Experts live on a grid of their own over the same ranks. Nothing checks it among the arguments: megatron-core's
    `initialize_model_parallel` raises a RuntimeError on every rank when it builds the groups.

    ## Example

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --num-experts 8 --expert-model-parallel-size 8 \\
        --pipeline-model-parallel-size 2
    ```

    ## Use instead

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --num-experts 8 --expert-model-parallel-size 4 \\
        --pipeline-model-parallel-size 2
    ```

    ## References/versions
    """

    code = "PAR002"
    slug = "expert-world-size"
    outcomes = (Outcome.CRASH_START,)
    windows = (GRID, ENCODER_APART, WEIGHT_SHARDS)
    references = (
        Reference(
            "megatron/core/parallel_state.py:788-795 at core_v0.16.1; :645 at core_v0.10.0; :874 at core_v0.19.0"
        ),
        Reference("megatron/core/parallel_state.py:442 at core_v0.8.0; :536 at core_v0.9.0"),
        Reference("src/megatron/bridge/models/transformer_config.py:80-88 at v0.6.0, etp is 1; absent at v0.5.1"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for ep and etp first: most models have no experts."""
        ep, tp = positive(config, EP), positive(config, "tensor_model_parallel_size")
        if config.data(ETP) is None:
            return
        etp = positive(config, ETP)
        if ep == 1 and etp == tp:
            return
        dp, one = data_parallel(config), replica(config)
        if not config.within(GRID):
            yield from _shared(config, ep, dp)
            return
        pp = positive(config, PP)
        shards = weight_shards(config, EXPERT_SHARDS, etp)
        ranks, grid = dp * one.decoder, etp * ep * pp * shards
        if ranks % grid:
            yield _verdict(config, ranks, grid, (etp, ep, pp, shards))


def _verdict(config: EffectiveConfig, ranks: int, grid: int, sizes: tuple[int, int, int, int]) -> Verdict:
    etp, ep, pp, shards = sizes
    template = grows(config, ranks, grid)
    more = (f" * {shards} weight shards beyond etp", (EXPERT_SHARDS,)) if shards > 1 else ("", ())
    return Verdict(
        f"{ranks} ranks{on_nodes(config)} are not a multiple of {ETP} * {EP} * {PP} = {etp} * {ep} * {pp}"
        f"{more[0]} = {grid}: megatron-core raises a RuntimeError when it builds the process groups, and every rank "
        f"stops.{TEMPLATE if template else ''}",
        Outcome.CRASH_START,
        at=place_of(config, EP, ETP),
        fields=(EP, ETP, PP, *more[1]),
        related=launched(config),
        severity=Severity.WARNING if template else None,
        fix=Fix(_fix(config, ranks, grid // ep, ep)),
    )


def _fix(config: EffectiveConfig, ranks: int, others: int, ep: int) -> str:
    fitting = [str(size) for size in divisors(ranks // others, ep)] if ranks % others == 0 else []
    more = f"launch a multiple of {others * ep} ranks"
    if fitting:
        return f"Set {EP} to {' or '.join(fitting)}, or {more}."
    return f"Set {ETP} lower, or {more}."


def _shared(config: EffectiveConfig, ep: int, dp: int) -> Iterator[Verdict]:
    """Judge versions whose experts share the data parallel ranks."""
    if dp % ep:
        yield Verdict(
            f"{EP} = {ep} does not divide the data parallel size {dp}, over whose ranks experts are spread before "
            "megatron-core 0.10: a RuntimeError is raised when the process groups are built, and every rank stops.",
            Outcome.CRASH_START,
            at=EP,
            fields=replica(config).fields,
            related=launched(config),
            fix=Fix(f"Set {EP} to a divisor of {dp}, or launch a multiple of {world(config) // dp * ep} ranks."),
        )


RULE = ExpertWorldSize
