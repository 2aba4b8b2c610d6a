"""CTX007: an attention bias or a padding mask that the exchange cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, comm_types, swap, uses_te_core
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict

PADDING_MASKS = ("pretrain_bert.py", "pretrain_t5.py")
"""Entries whose attention masks padding (megatron/core/models/bert/bert_layer_specs.py:64 and T5/t5_spec.py:66)."""


RELATIVE_BIAS = ("pretrain_t5.py",)
"""Entries whose model makes a bias of relative positions: T5's alone (core_v0.16.1 models/T5/t5_model.py:216)."""


class BiasOrMask(LaunchRule):
    """An attention bias or a padding mask that the exchange cannot do.

    ## What it does

    With cp > 1, finds an attention bias (T5's relative position embedding, or an additive bias) with an exchange other
    than `p2p`, and a padding mask on unpacked sequences (BERT, T5) with `a2a` or `all_gather`.

    ## Why this is bad

    Transformer Engine asserts both in the first forward pass; no argument check looks at them.

    ## Example

    ```bash
    torchrun pretrain_bert.py --context-parallel-size 2 --cp-comm-type a2a
    ```

    ## Use instead

    ```bash
    torchrun pretrain_bert.py --context-parallel-size 2 --cp-comm-type p2p
    ```

    ## References/versions

    Every version of Transformer Engine that has the exchanges, from 1.11 on. A bias is additive and of the kind
    "post scale"; Transformer Engine's FusedAttention does it with p2p and a mask that is not padding.
    """

    code = "CTX007"
    slug = "bias-or-mask"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference("transformer_engine/pytorch/attention.py:3038-3041 (all_gather) and :3519-3522 (a2a) at v1.11"),
        Reference(
            "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:3081-3085 (all_gather), "
            ":4224-4229 (a2a), :5024-5026 (a2a+p2p) at v2.18"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at the exchange first: p2p, which most configs use, can do both."""
        wrong = next((comm for comm in comm_types(config) if comm in ("a2a", "all_gather", "a2a+p2p")), None)
        if wrong is None:
            return
        bias = _bias(config)
        masked = wrong != "a2a+p2p" and _masks_padding(config)
        if not bias and not masked:
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        what = (
            f"{_spelt(config, bias)} adds a bias to the attention scores"
            if bias
            else f"{config.launch.entry} masks padding in its attention"
        )
        yield Verdict(
            f"{what}, and {wrong} cannot do that over cp = {cp} ranks: start-up passes, and every rank stops with "
            f"Transformer Engine's assertion in the first forward.",
            Outcome.CRASH_LATE,
            at="cp_comm_type",
            fields=(*((bias,) if bias else ()), "context_parallel_size"),
            fix=Fix(
                "Set cp_comm_type to p2p.", swap(config.value("cp_comm_type"), wrong, "p2p"), safe=wrong != A2A_P2P
            ),
        )


def _bias(config: EffectiveConfig) -> str:
    """Give the field that brings a bias, or nothing."""
    if config.data("attention_bias"):
        return "attention_bias"
    relative = _entry(config) in RELATIVE_BIAS and config.data("position_embedding_type") == "relative"
    return "position_embedding_type" if relative else ""


def _spelt(config: EffectiveConfig, bias: str) -> str:
    return bias if bias == "attention_bias" else f"{bias} {config.data(bias)}"


def _masks_padding(config: EffectiveConfig) -> bool:
    return _entry(config) in PADDING_MASKS


def _entry(config: EffectiveConfig) -> str:
    return config.launch.entry.rsplit("/", 1)[-1]


RULE = BiasOrMask
