"""CTX002: a comm type that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, COMM_TYPES, comm_types, swap, uses_te_core
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict

SPARSE_NAME = "allgather"
"""What layers with DeepSeek sparse attention ask for (core_v0.19.0 transformer/transformer_config.py:2840-2851)."""


class UnknownCommType(LaunchRule):
    """A comm type that does not exist.

    ## What it does

    Finds a `cp_comm_type` entry that is none of `p2p`, `all_gather`, `a2a` and `a2a+p2p`, with cp > 1. The names are
    matched as they are written: `allgather` (which Megatron-LM's own help offers), `A2A` and `p2p+a2a` are unknown.
    Layers with DeepSeek sparse attention spell it `allgather`, rightly, and are left out.

    ## Why this is bad

    Neither the argument parser nor the config checks the name. Transformer Engine raises ValueError, in the first
    forward pass, after the model is built and the data is loaded.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 4 --cp-comm-type allgather
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 4 --cp-comm-type all_gather
    ```

    ## References/versions

    Every version so far.
    """

    code = "CTX002"
    slug = "unknown-comm-type"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference("transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:5139 at v2.18"),
        Reference("transformer_engine/pytorch/attention.py:4362 at v1.12"),
        Reference(
            "megatron/core/transformer/transformer_config.py:2840-2851 at core_v0.19.0: sparse attention's own name"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at the names first: most are right."""
        wrong = sorted({comm for comm in comm_types(config) if comm not in COMM_TYPES})
        if not wrong or config.number("context_parallel_size") <= 1:
            return
        if SPARSE_NAME in wrong:  # right for a model with sparse attention, so plain attention is not taken for granted
            config.data("experimental_attention_variant")
        if not uses_te_core(config):
            return
        for comm in wrong:
            yield _verdict(config, comm)


def _verdict(config: EffectiveConfig, comm: str) -> Verdict:
    meant = _meant(comm)
    names = ", ".join(COMM_TYPES[:-1]) + f" and {COMM_TYPES[-1]}"
    return Verdict(
        f"cp_comm_type {comm!r} does not exist; Transformer Engine knows {names}. Nothing checks the name before: "
        "every rank stops with ValueError in the first forward.",
        Outcome.CRASH_LATE,
        at="cp_comm_type",
        fields=("context_parallel_size",),
        subject=comm,
        fix=Fix(
            f"Write {meant}." if meant else f"Write one of {names}.",
            swap(config.value("cp_comm_type"), comm, meant) if meant else (),
            safe=meant != A2A_P2P or bool(config.value("hierarchical_context_parallel_sizes").data),
        ),
    )


def _meant(comm: str) -> str:
    """Give the name that differs in case, separators or order only; empty where there is none."""
    plain = comm.lower().replace("-", "_")
    if plain.replace("_", "") == "allgather":
        return "all_gather"
    if sorted(plain.replace("_", "+").split("+")) == ["a2a", "p2p"]:
        return A2A_P2P
    return plain if plain in COMM_TYPES else ""


RULE = UnknownCommType
