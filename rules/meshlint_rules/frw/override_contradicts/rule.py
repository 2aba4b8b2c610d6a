"""FRW001: a parallel size in verl's override that the process groups do not follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from meshlint.config.clauses import each
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict


class OverrideContradicts(LaunchRule):
    """A parallel size in `override_transformer_config` that contradicts the engine's own.

    ## What it does

    Finds `override_transformer_config.context_parallel_size`, or that of tp, pp or ep, where the engine's own setting
    of the same name has another value.

    ## Why this is bad

    verl builds the process groups from its own settings and puts the override into the model's config only. The two
    then disagree, without an error: with pp, each stage builds the layers of a pipeline that is not there; with an
    override of cp = 1 under groups of more, every rank attends to its own part of the sequence alone. Any other
    override changes nothing, since the layers ask the groups.

    ## Example

    ```bash
    python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.context_parallel_size=1 \\
        +actor_rollout_ref.actor.megatron.override_transformer_config.context_parallel_size=4
    ```

    ## Use instead

    ```bash
    python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.context_parallel_size=4
    ```

    ## References/versions

    Every version of verl so far.
    """

    code = "FRW001"
    slug = "override-contradicts"
    outcomes = (Outcome.WRONG, Outcome.IGNORED)
    references = (
        Reference("verl/workers/engine/megatron/transformer_impl.py:272-283 (groups), :333, :372 (model) at 1dda039b9"),
        Reference(
            "verl/workers/megatron_workers.py:285-294 at v0.7.1; verl/models/mcore/config_converter.py:96, v0.7.1"
        ),
        Reference("megatron/core/transformer/transformer_block.py:83 at core_v0.10.0: layers by the config's pp"),
        Reference(
            "megatron/core/extensions/transformer_engine.py:1228 at core_v0.16.1: a group for cp by the config's cp"
        ),
    )
    frameworks = ("verl",)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Compare the four sizes that an override can have."""
        yield from each(config, *map(_compare, SIZES))


SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
)


def _compare(size: str) -> Callable[[EffectiveConfig], Iterator[Verdict]]:
    """Make the comparison of one size with its override."""

    def clause(config: EffectiveConfig) -> Iterator[Verdict]:
        override = config.data(f"override_{size}")
        if override is None or config.number(size) == override:
            return
        yield _verdict(size, config.number(size), override)

    return clause


def _verdict(size: str, own: int, override: int) -> Verdict:
    wrong = _harm(size, own, override)
    return Verdict(
        f"override_transformer_config sets {size} = {override}, and the engine {own}: the process groups have {own}, "
        f"{wrong or 'which the layers follow, so the override does nothing'}.",
        Outcome.WRONG if wrong else Outcome.IGNORED,
        subject=size,
        at=f"override_{size}",
        fields=(size,),
        severity=None if wrong else Severity.WARNING,
        fix=Fix(f"Set {size} to {override}, and leave override_{size} out."),
    )


def _harm(size: str, own: int, override: int) -> str:
    """Say what goes wrong; empty where the override does nothing."""
    if size == "pipeline_model_parallel_size":
        return f"and each stage builds the layers of a pipeline of {override}, without an error"
    if size == "context_parallel_size" and override == 1 and own > 1:
        return "and every rank attends to its own part of each sequence alone, without an error"
    return ""


RULE = OverrideContradicts
