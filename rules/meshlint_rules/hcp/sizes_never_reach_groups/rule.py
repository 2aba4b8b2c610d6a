"""HCP006: a framework that never builds the two levels."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, builds_levels, level_sizes, listed, swap, uses_te_core, wants_levels
from meshlint.config.packing import packed_needs
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class SizesNeverReachGroups(LaunchRule):
    """Two-level context parallelism in a framework that never builds the two levels.

    ## What it does

    Finds a `cp_comm_type` of `a2a+p2p` with cp > 1 in verl, ms-swift and NeMo 2, whose calls of megatron-core's
    `initialize_model_parallel` never pass `hierarchical_context_parallel_sizes`, and on Megatron-Bridge's provider path
    where the call does not give them.

    ## Why this is bad

    The comm type reaches the layers, the sizes never reach the group builder. Without the groups Transformer Engine
    runs at a context parallel size of 1: each rank attends to its own chunk only, nothing is raised, and no value of
    the sizes in this framework's config changes that. Measured output error: 149 % (relative L2), megatron-core
    0.19.2, Transformer Engine 2.20.2.

    ## Example

    ```bash
    python3 -m verl.trainer.main_ppo \\
        actor_rollout_ref.actor.megatron.context_parallel_size=4 \\
        +actor_rollout_ref.actor.megatron.override_transformer_config.cp_comm_type=a2a+p2p
    ```

    ## Use instead

    ```bash
    python3 -m verl.trainer.main_ppo \\
        actor_rollout_ref.actor.megatron.context_parallel_size=4 \\
        +actor_rollout_ref.actor.megatron.override_transformer_config.cp_comm_type=a2a
    ```

    ## References/versions

    Every version so far.
    """

    code = "HCP006"
    slug = "sizes-never-reach-groups"
    outcomes = (Outcome.WRONG,)
    references = (
        Reference(
            "verl/workers/engine/megatron/transformer_impl.py:272 at v0.9.0, :112 and megatron_workers.py:285 at v0.7.1"
        ),
        Reference("swift/megatron/utils/megatron_lm_utils.py, the call; docs list a2a+p2p as accepted"),
        Reference("nemo/lightning/_strategy_lib.py:124, the call"),
        Reference("src/megatron/bridge/models/model_provider.py:323, passed only where the caller gives them"),
    )
    supersedes = ("HCP001", "HCP002", "HCP003", "HCP007")

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a2a+p2p first: most configs end there."""
        if not wants_levels(config) or builds_levels(config):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        sizes = level_sizes(config)
        given = f" hierarchical_context_parallel_sizes {listed(sizes)} changes nothing." if sizes else ""
        yield Verdict(
            f"cp_comm_type asks for {A2A_P2P} with context_parallel_size = {cp}, but {_who(config)} "
            f"level sizes to megatron-core's group builder.{given} Transformer Engine gets no group, and "
            f"each of the {cp} ranks attends only to its own 1/{cp} of every sequence, without an error.",
            Outcome.WRONG,
            at="cp_comm_type",
            fields=("context_parallel_size", "hierarchical_context_parallel_sizes"),
            fix=Fix(
                f"{_given(config)}et cp_comm_type to p2p, or to a2a where heads and key-value groups per tensor "
                f"parallel rank divide by cp{packed_needs(config, '2.10')}.",
                swap(config.value("cp_comm_type"), A2A_P2P, "p2p"),
            ),
        )


def _by_call(config: EffectiveConfig) -> bool:
    """Say whether a call in the program builds the groups, which would take the sizes (Bridge's provider path)."""
    return "megatron-bridge" in config.framework.libraries


def _who(config: EffectiveConfig) -> str:
    return "this call gives no" if _by_call(config) else f"{config.framework.title} never passes"


def _given(config: EffectiveConfig) -> str:
    return "Give the call hierarchical_context_parallel_sizes, or s" if _by_call(config) else "S"


RULE = SizesNeverReachGroups
