"""CTX008: FP8 attention that no backend does under context parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import uses_te_core
from meshlint.config.packing import is_packed
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

TE = "transformer-engine"
PACKED = Window(
    TE,
    since="2.15",
    until="2.19",
    says="FusedAttention is dropped for FP8 attention on packed sequences under context parallelism",
    source="transformer_engine/pytorch/attention/dot_product_attention/utils.py:1011 at v2.15, :1147 at v2.18; "
    "not there in the 2.19.0 wheel",
)
CUSTOM = Window(
    TE,
    since="2.16",
    says="NotImplementedError for a custom FP8 recipe with FP8 attention under context parallelism",
    source="transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:74 at v2.16",
)
MLA = Window(
    TE,
    since="2.5",
    until="2.15",
    says="FusedAttention is dropped for FP8 attention with MLA's head dimensions under context parallelism",
    source="transformer_engine/pytorch/attention/dot_product_attention/utils.py:611 at v2.5, :832 at v2.14; before it "
    "for any MLA, :611 at v2.4",
)
SINK = Window(
    TE,
    since="2.8",
    until="2.15",
    says="an attention sink is refused with FP8 attention under context parallelism",
    source="transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:3755 at v2.8, :4080 at "
    "v2.14; not there at v2.15",
)


class Fp8Attention(LaunchRule):
    """FP8 attention that no backend does under context parallelism.

    ## What it does

    With cp > 1 and FP8 attention (`fp8_dot_product_attention`, or `fp8_multi_head_attention`, under an FP8 format),
    finds what leaves no attention backend: `attention_backend` flash, packed sequences, MLA, an attention sink, a
    custom FP8 recipe, each on the versions where it does.

    ## Why this is bad

    Under context parallelism only FusedAttention does FP8 attention. Where another choice drops it, the first forward
    pass ends with "No dot product attention backend is available", or with NotImplementedError for a custom recipe.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 2 --fp8-format hybrid --fp8-dot-product-attention \\
        --attention-backend flash
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 2 --fp8-format hybrid --fp8-dot-product-attention \\
        --attention-backend fused
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by. FlashAttention is dropped on every version.
    """

    code = "CTX008"
    slug = "fp8-attention"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (PACKED, CUSTOM, MLA, SINK)
    references = (
        Reference("transformer_engine/pytorch/attention.py:538 at v1.12; .../utils.py:1090 at v2.18: FlashAttention"),
        Reference("megatron/core/models/common/language_module/language_module.py:112 at core_v0.16.1: flash only"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for FP8 attention first: few configs turn it on."""
        at = _switch(config)
        if not at or config.data("fp8") is None:
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        field, why = _blocked(config)
        if not field:
            return
        yield Verdict(
            f"{at} with context_parallel_size = {cp} needs FusedAttention, and {why}: start-up passes, and every rank "
            f"stops in Transformer Engine in the first forward.",
            Outcome.CRASH_LATE,
            at=at,
            fields=(field, "context_parallel_size", "fp8"),
            fix=Fix(_ADVICE[field]),
        )


_ADVICE = {
    "attention_backend": "Set attention_backend to fused or auto, or turn FP8 attention off.",
    "fp8_recipe": "Use the delayed, tensorwise or mxfp8 recipe, or turn FP8 attention off.",
    "packed_sequences": "Use Transformer Engine 2.19 or newer, or turn FP8 attention off.",
    "softmax_type": "Use Transformer Engine 2.15 or newer, or turn FP8 attention off.",
    "multi_latent_attention": "Use Transformer Engine 2.15 or newer, or turn FP8 attention off.",
}


def _switch(config: EffectiveConfig) -> str:
    names = ("fp8_dot_product_attention", "fp8_multi_head_attention")
    return next((name for name in names if config.data(name)), "")


def _blocked(config: EffectiveConfig) -> tuple[str, str]:
    """Give the field that drops the last backend, and how; both empty where none does."""
    if config.data("attention_backend") == "flash":
        return "attention_backend", "attention_backend flash forbids it"
    if config.data("fp8_recipe") == "custom" and config.within(CUSTOM):
        return "fp8_recipe", "a custom FP8 recipe is refused under context parallelism"
    if is_packed(config) and config.within(PACKED):
        return "packed_sequences", "that is dropped for packed (THD) sequences from Transformer Engine 2.15 to 2.18"
    if config.data("multi_latent_attention") and config.within(MLA):
        return "multi_latent_attention", "that is dropped for MLA before Transformer Engine 2.15"
    if config.within(SINK) and config.data("softmax_type") not in (None, "vanilla"):
        return "softmax_type", "an attention sink is refused with it before Transformer Engine 2.15"
    return "", ""


RULE = Fp8Attention
