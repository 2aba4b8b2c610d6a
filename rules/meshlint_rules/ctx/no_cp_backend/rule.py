"""CTX006: no attention backend does context parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import uses_te_core
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class NoCpBackend(LaunchRule):
    """An attention implementation that does no context parallelism.

    ## What it does

    Finds cp > 1 with `transformer_impl` local, or with `attention_backend` unfused.

    ## Why this is bad

    megatron-core's own attention asserts cp = 1 in its constructor, while the model is built. Transformer Engine's
    unfused backend is dropped under context parallelism; where it is the only one allowed, the first forward pass ends
    with "No dot product attention support". The arguments are accepted.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 2 --attention-backend unfused
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 2 --attention-backend fused
    ```

    ## References/versions

    Every version so far; `attention_backend` exists since megatron-core 0.11.
    """

    code = "CTX006"
    slug = "no-cp-backend"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference("megatron/core/transformer/dot_product_attention.py:57-59 at core_v0.16.1; :50 at core_v0.10.0"),
        Reference("transformer_engine/pytorch/attention.py:532 at v1.12; .../utils.py:1074 at v2.18"),
        Reference("megatron/core/models/common/language_module/language_module.py:119-122 at core_v0.16.1"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the backend first: few configs set it."""
        local = config.data("transformer_impl") == "local"
        if not local and config.data("attention_backend") != "unfused":
            return
        cp = config.number("context_parallel_size")
        if cp <= 1:
            return
        if local and config.data("spec") is None:
            yield _verdict(
                "transformer_impl",
                f"transformer_impl local attends with megatron-core's own attention, which asserts cp = 1; "
                f"context_parallel_size is {cp}. Every rank stops while the model is built.",
                "Set transformer_impl to transformer_engine, or context_parallel_size to 1.",
            )
        elif not local and uses_te_core(config):
            yield _verdict(
                "attention_backend",
                f"attention_backend unfused leaves only a backend that does no context parallelism, and "
                f"context_parallel_size is {cp}: start-up passes, and every rank stops in the first forward with "
                f'"No dot product attention".',
                "Set attention_backend to auto, fused or flash.",
            )


def _verdict(at: str, message: str, fix: str) -> Verdict:
    return Verdict(message, Outcome.CRASH_LATE, at=at, fields=("context_parallel_size",), fix=Fix(fix))


RULE = NoCpBackend
