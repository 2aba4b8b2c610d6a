"""CTX010: a comm type without context parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, comm_types
from meshlint.config.value import Kind
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Value, Verdict


class CommTypeIgnored(LaunchRule):
    """A comm type without context parallelism.

    ## What it does

    Finds a `cp_comm_type` that is written while `context_parallel_size` is 1 or not set. `a2a+p2p` is left to HCP001
    and HCP002, which say what it does there.

    ## Why this is bad

    The setting does nothing. It reads as if context parallelism were on.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --cp-comm-type a2a
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --cp-comm-type a2a --context-parallel-size 4
    ```

    ## References/versions

    Every version so far.
    """

    code = "CTX010"
    slug = "comm-type-ignored"
    severity = Severity.INFO
    outcomes = (Outcome.IGNORED,)
    references = (
        Reference("megatron/core/extensions/transformer_engine.py:1229 at core_v0.16.1: read with cp > 1 only"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a written comm type first: few configs have one."""
        value = config.need("cp_comm_type")
        if not value.is_set or _is_null(value) or A2A_P2P in comm_types(config):
            return
        if config.number("context_parallel_size") != 1:
            return
        yield Verdict(
            f"cp_comm_type {', '.join(sorted(set(comm_types(config))))} does nothing: context_parallel_size is 1.",
            Outcome.IGNORED,
            at="cp_comm_type",
            fields=("context_parallel_size",),
            fix=Fix("Set context_parallel_size above 1, or take cp_comm_type away."),
        )


def _is_null(value: Value) -> bool:
    """Say whether the setting was cleared: a null counts as p2p, and asks for nothing."""
    return value.data is None or any(o.kind is Kind.WRITTEN and o.text in NULLS for o in value.origins[:1])


NULLS = ("None", "null", "Null", "NULL", "~", "")


RULE = CommTypeIgnored
