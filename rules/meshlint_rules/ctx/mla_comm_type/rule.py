"""CTX011: multi-latent attention under context parallelism with an exchange that cannot do it."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import comm_types, level_sizes, swap, taken_as, uses_te_core
from meshlint.config.packing import is_packed
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

REFUSED = Window(
    "transformer-engine",
    since="2.5",
    until="2.15",
    says="head dimensions of keys and values that differ (MLA) are refused with all_gather and a2a",
    source="transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:3880 at v2.5, :4073 at "
    "v2.14; not there at v2.4 and v2.15",
)
NO_BACKEND = Window(
    "transformer-engine",
    until="2.5",
    says="no attention backend does MLA under context parallelism, whatever the exchange",
    source="transformer_engine/pytorch/attention.py:526 at v1.11; pytorch/dot_product_attention/utils.py:601 at v2.2; "
    "pytorch/attention/dot_product_attention/utils.py:613 at v2.4; not there at v2.5",
)
PADS = Window(
    "megatron-core",
    since="0.18",
    says="values of packed sequences are padded to the head dimension of the keys",
    source="megatron/core/transformer/multi_latent_attention.py:89-97 at core_v0.18.0; not there at core_v0.17.1",
)
SPLIT = ("a2a", "all_gather")


class MlaCommType(LaunchRule):
    """Multi-latent attention under context parallelism with an exchange that cannot do it.

    ## What it does

    Finds multi-latent attention (DeepSeek, Kimi, Moonlight and their like) with cp > 1 on a Transformer Engine that
    cannot do it: with `cp_comm_type` `a2a` or `all_gather`, and on old versions with any. It speaks of those old
    versions only where something pins Transformer Engine to one.

    ## Why this is bad

    Keys and values of multi-latent attention have head dimensions of their own. Transformer Engine asserts that the
    exchange is p2p or a2a+p2p, or has no attention backend at all, in the first forward pass. No argument check looks
    at it.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --multi-latent-attention --context-parallel-size 2 --cp-comm-type a2a
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --multi-latent-attention --context-parallel-size 2 --cp-comm-type p2p
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "CTX011"
    slug = "mla-comm-type"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (REFUSED, NO_BACKEND, PADS)
    references = (
        Reference("megatron/core/transformer/multi_latent_attention.py:155-164 at core_v0.16.1: both head dimensions"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the attention first: few models have it."""
        if not config.data("multi_latent_attention"):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config) or _equal_heads(config):
            return
        if is_packed(config) and config.within(PADS):
            return
        if config.pinned("transformer-engine") and config.within(NO_BACKEND):
            yield _no_backend(cp)
            return
        wrong = next((comm for comm in comm_types(config) if taken_as(comm, level_sizes(config)) in SPLIT), None)
        if wrong is not None and config.within(REFUSED):
            yield _refused(config, wrong, cp)


def _equal_heads(config: EffectiveConfig) -> bool:
    """Say whether keys are as wide as values, which is all that Transformer Engine looks at; unknown counts as no."""
    names = ("qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim")
    key, rotary, value = (config.value(name).data for name in names)
    return isinstance(key, int) and isinstance(rotary, int) and key + rotary == value


def _no_backend(cp: int) -> Verdict:
    return Verdict(
        f"multi_latent_attention under context parallelism (cp = {cp}) has no attention backend before Transformer "
        "Engine 2.5: start-up passes, and every rank stops in the first forward.",
        Outcome.CRASH_LATE,
        at="context_parallel_size",
        fields=("multi_latent_attention",),
        fix=Fix("Use Transformer Engine 2.5 or newer, or set context_parallel_size to 1."),
    )


def _refused(config: EffectiveConfig, wrong: str, cp: int) -> Verdict:
    return Verdict(
        f"cp_comm_type {wrong} over cp = {cp} ranks cannot do multi_latent_attention, whose keys and values differ in "
        "head dimension: start-up passes, and every rank stops in the first forward, with Transformer Engine's "
        '"Context parallelism does not support MLA".',
        Outcome.CRASH_LATE,
        at="cp_comm_type",
        fields=("multi_latent_attention", "context_parallel_size"),
        fix=Fix(
            "Set cp_comm_type to p2p, or use Transformer Engine 2.15 or newer.",
            swap(config.value("cp_comm_type"), wrong, "p2p"),
        ),
    )


RULE = MlaCommType
