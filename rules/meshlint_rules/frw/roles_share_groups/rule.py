"""FRW003: verl roles that share process groups, with sizes of their own."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.value import Value
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Related, Severity, Span, Verdict


class RolesShareGroups(LaunchRule):
    """Roles of one process whose parallel sizes differ.

    ## What it does

    Finds a reference, critic or reward model of verl whose tp, pp, cp, ep or etp is not the actor's.

    ## Why this is bad

    verl places these roles into the processes of the actor, and megatron-core has one set of process groups in a
    process. The role that comes first makes them; the others find them there and go on, without a word of their own
    sizes. A reference model that was to fit with more tensor parallelism runs with the actor's.

    ## Example

    ```bash
    python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \\
        actor_rollout_ref.ref.megatron.tensor_model_parallel_size=8
    ```

    ## Use instead

    ```bash
    python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=8 \\
        actor_rollout_ref.ref.megatron.tensor_model_parallel_size=8
    ```

    ## References/versions

    Every version of verl so far.
    """

    code = "FRW003"
    slug = "roles-share-groups"
    outcomes = (Outcome.IGNORED,)
    references = (
        Reference("verl/workers/engine/megatron/transformer_impl.py:245-259 at 1dda039b9: groups that exist are kept"),
        Reference("verl/trainer/ppo/ray_trainer.py:870-875 at 1dda039b9: roles of one pool share their processes"),
        Reference("verl/workers/megatron_workers.py:285 at v0.7.1: the actor's sizes, whatever the reference's"),
    )
    frameworks = ("verl",)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Compare a role with the first of its processes, the actor."""
        first = config.framework.roles(config.launch)[0]
        if first == config.role or first.name != "actor" or _apart(config):
            return
        actor = EffectiveConfig(config.launch, config.framework, first, config.versions, config.chosen, config.shapes)
        told: list[Span] = []
        for name in SIZES:
            own, theirs = config.value(name), actor.value(name)
            if own.is_unknown or theirs.is_unknown or own.data == theirs.data or own.span is None:
                continue
            if own.span in told:  # etp follows tp where it is not written
                continue
            told.append(own.span)
            yield _verdict(config.role.name, name, own, theirs)


SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
)


def _apart(config: EffectiveConfig) -> bool:
    """Say whether a role has processes of its own, or none: a pool for rewards, or a reference inside of the actor."""
    pool = config.launch.find("reward_model.enable_resource_pool")
    if config.role.name == "reward":
        return pool is None or str(pool.data).lower() != "false"
    return config.role.name == "ref" and any(_positive(config, key) for key in LORA)


LORA = ("actor_rollout_ref.model.lora_rank", "actor_rollout_ref.model.lora.rank")


def _positive(config: EffectiveConfig, key: str) -> bool:
    rank = config.launch.find(key)
    return rank is not None and str(rank.data) not in ("0", "None", "null")


def _verdict(role: str, name: str, own: Value, theirs: Value) -> Verdict:
    span = theirs.span
    return Verdict(
        f"{name} = {own.data} of the {role} and {theirs.data} of the actor: the two share their processes, and one "
        f"set of process groups, so one of the sizes is not used, without a word.",
        Outcome.IGNORED,
        subject=name,
        at=name,
        related=() if span is None else (Related(span, f"{name} = {theirs.data} of the actor"),),
        severity=Severity.WARNING,
        fix=Fix(f"Set {name} to the same value for both."),
    )


RULE = RolesShareGroups
