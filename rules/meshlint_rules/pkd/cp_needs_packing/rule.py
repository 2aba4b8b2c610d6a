"""PKD009: context parallelism without packing where the framework has it with packing only."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.packing import is_packed
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class CpNeedsPacking(LaunchRule):
    """Context parallelism without packing where the framework has it with packing only.

    ## What it does

    Finds cp > 1 of NeMo-RL's Megatron policy, or of its value model, without `sequence_packing.enabled`.

    ## Why this is bad

    NeMo-RL cuts sequences among the context parallel ranks where it packs them, and nowhere else. Every worker asserts
    that packing is on while it sets its model up: after Ray has started, the data are loaded and the checkpoint may
    have been converted.

    ## Example

    ```yaml
    policy:
      sequence_packing:
        enabled: false
      megatron_cfg:
        enabled: true
        context_parallel_size: 2
    ```

    ## Use instead

    ```yaml
    policy:
      sequence_packing:
        enabled: true
      megatron_cfg:
        enabled: true
        context_parallel_size: 2
    ```

    ## References/versions

    Every version with a Megatron policy so far.
    """

    code = "PKD009"
    slug = "cp-needs-packing"
    outcomes = (Outcome.CRASH_START,)
    frameworks = ("nemo-rl",)
    references = (
        Reference("nemo_rl/models/policy/megatron_policy_worker.py:464 at v0.3.1, :558 at v0.4.0"),
        Reference("nemo_rl/models/policy/workers/megatron_policy_worker.py:640 at v0.5.0"),
        Reference("nemo_rl/models/megatron/setup.py:390 at v0.6.0, :635 at v0.7.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for cp first: it is 1 in most configs."""
        if not config.habit("needs_packing_for_cp"):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or is_packed(config):
            return
        written = config.value("packed_sequences").span is not None
        yield Verdict(
            f"context_parallel_size = {cp} without packed sequences: {config.framework.title} does context parallelism "
            "on packed sequences only, and every worker stops with an assertion while it sets its model up.",
            Outcome.CRASH_START,
            at="packed_sequences" if written else "context_parallel_size",
            fields=("context_parallel_size", "packed_sequences"),
            fix=Fix("Turn packed_sequences on, or set context_parallel_size to 1."),
        )


RULE = CpNeedsPacking
