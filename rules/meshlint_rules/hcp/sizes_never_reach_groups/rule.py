"""HCP006: a framework that never builds the two levels."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, builds_levels, level_sizes, listed, swap, uses_te_core, wants_levels
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
            f"cp_comm_type asks for {A2A_P2P} with context_parallel_size = {cp}, but {config.framework.title} never "
            f"passes level sizes to megatron-core's group builder.{given} Transformer Engine gets no group, and "
            f"each of the {cp} ranks attends only to its own 1/{cp} of every sequence, without an error.",
            Outcome.WRONG,
            at="cp_comm_type",
            fields=("context_parallel_size", "hierarchical_context_parallel_sizes"),
            fix=Fix(
                "Set cp_comm_type to a2a (where heads and key-value groups divide by cp) or to p2p, as the edit does.",
                swap(config.value("cp_comm_type"), A2A_P2P, "p2p"),
            ),
        )


RULE = SizesNeverReachGroups
