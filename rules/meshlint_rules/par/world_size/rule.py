"""PAR001: ranks that the parallel sizes do not divide."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.sizes import (
    ENCODER_APART,
    TEMPLATE,
    WEIGHT_SHARDS,
    grows,
    launched,
    on_nodes,
    place_of,
    replica,
    world,
)
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict


class WorldSize(LaunchRule):
    """A number of ranks that one replica of the model does not divide.

    ## What it does

    Finds a number of launched ranks that is not a multiple of tp * pp * cp, the ranks that hold one replica. The ranks
    are those of the launcher, of Ray's pool, of the nodes that train (NeMo-RL takes those of inference and of teachers
    away), or what `--world-size` says. Where the launch leaves the number open, as in `${NNODES:-1}`, nothing is said.

    ## Why this is bad

    Ranks beyond the last whole replica would have nothing to do: Megatron-LM's command line and Megatron-Bridge assert
    it among their arguments, and megatron-core's `initialize_model_parallel` raises a RuntimeError, on every rank,
    before the model is built.

    ## Example

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --context-parallel-size 3
    ```

    ## Use instead

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --context-parallel-size 4
    ```

    ## References/versions

    Every version so far; what counts as one replica differs, see below.
    """

    code = "PAR001"
    slug = "world-size"
    outcomes = (Outcome.CRASH_START,)
    windows = (ENCODER_APART, WEIGHT_SHARDS)
    references = (
        Reference(
            "megatron/training/arguments.py:314-319 at core_v0.16.1; :160-177 at core_v0.8.0; :422 at core_v0.19.0"
        ),
        Reference(
            "megatron/core/parallel_state.py:738-741 at core_v0.16.1; :578 at core_v0.10.0; :822 at core_v0.19.0"
        ),
        Reference("src/megatron/bridge/training/config.py:1132-1142 at v0.2.2; :1000 at v0.4.2"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the ranks first: many launches do not say them."""
        ranks, one = world(config), replica(config)
        if ranks % one.ranks == 0:
            return
        template = grows(config, ranks, one.ranks)
        count = "1 rank is" if ranks == 1 else f"{ranks} ranks are"
        yield Verdict(
            f"{count} launched{on_nodes(config)}, which is not a multiple of {one.sum}: "
            f"{_how(config)}, and every rank stops.{TEMPLATE if template else ''}",
            Outcome.CRASH_START,
            at=place_of(config, *one.fields),
            fields=one.fields,
            related=launched(config),
            severity=Severity.WARNING if template else None,
            fix=Fix(_fix(ranks, one.ranks)),
        )


def _how(config: EffectiveConfig) -> str:
    if config.habit("checks_world"):
        return f"{config.framework.title} asserts it at start"
    return "megatron-core raises a RuntimeError when it builds the process groups"


def _fix(ranks: int, one: int) -> str:
    """Name the nearest numbers of ranks."""
    lower, upper = ranks // one * one, (ranks // one + 1) * one
    nearest = f"{upper}" if lower == 0 else f"{lower} or {upper}"
    return f"Launch {nearest} ranks, or choose sizes whose product divides {ranks}."


RULE = WorldSize
