"""HCP009: a load helper clears the level sizes and cp comes back without them."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.rule import Confidence, EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Window

CLEARS = Window(
    "megatron-bridge",
    since="0.2",
    says="load_megatron_model clears the level sizes, and its overrides can set cp again",
    source="src/megatron/bridge/training/model_load_save.py:377 at v0.2.0, :408 at v0.4.0; not there at v0.1.0rc4",
)
CP = "mp_overrides.context_parallel_size"
SIZES = "mp_overrides.hierarchical_context_parallel_sizes"


class LoadHelperClearsSizes(LaunchRule):
    """A load helper clears the level sizes, and an override brings context parallelism back without them.

    ## What it does

    Finds a call of Megatron-Bridge's `load_megatron_model` (or `AutoBridge.load_megatron_model`) whose `mp_overrides`
    set `context_parallel_size` above 1 and give no `hierarchical_context_parallel_sizes`.

    ## Why this is bad

    The helper resets a saved config to one GPU: cp = 1, and the level sizes to None. `cp_comm_type` stays as it was
    saved. A checkpoint that was trained with `a2a+p2p` then runs at the cp of the override without the groups of its
    two levels, and each rank attends to its own chunk only, without an error. It is a warning, since the saved config
    is not at hand.

    ## Example

    ```python
    model = load_megatron_model(path, mp_overrides={"context_parallel_size": 4})
    ```

    ## Use instead

    ```python
    overrides = {"context_parallel_size": 4, "hierarchical_context_parallel_sizes": [2, 2]}
    model = load_megatron_model(path, mp_overrides=overrides)
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "HCP009"
    slug = "load-helper-clears-sizes"
    severity = Severity.WARNING
    outcomes = (Outcome.WRONG,)
    frameworks = ("megatron-bridge",)
    windows = (CLEARS,)
    references = (Reference("src/megatron/bridge/training/model_load_save.py:412-417 at v0.4.0: the overrides"),)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at the overrides of a load; other launches have none."""
        cp = config.launch.find(CP)
        if config.launch.entry != "load" or cp is None or cp.is_unknown or cp.span is None:
            return
        sizes = config.launch.find(SIZES)
        if not isinstance(cp.data, int) or cp.data <= 1 or (sizes is not None and (sizes.is_unknown or sizes.data)):
            return
        if not config.within(CLEARS):
            return
        yield Verdict(
            "load_megatron_model clears hierarchical_context_parallel_sizes and mp_overrides sets "
            f"context_parallel_size to {cp.data}: a checkpoint saved with cp_comm_type a2a+p2p runs without its "
            f"groups, and each of the {cp.data} ranks attends only to its own 1/{cp.data} of every sequence, "
            "without an error.",
            Outcome.WRONG,
            span=cp.span,
            confidence=Confidence.LOW,
            scope=next((o.scope for o in cp.origins if o.scope), ""),
            fix=Fix("Give hierarchical_context_parallel_sizes in mp_overrides too, or set cp_comm_type to p2p there."),
        )


RULE = LoadHelperClearsSizes
