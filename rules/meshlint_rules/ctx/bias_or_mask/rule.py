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
    than `p2p`, and a padding mask on unpacked sequences (BERT, T5) with any.

    ## Why this is bad

    Transformer Engine refuses both in the first forward pass: a bias with an assertion or, on later releases, with "No
    dot product attention backend", a mask with "Padding mask not supported with context parallelism!". No argument
    check looks at them.

    ## Example

    ```bash
    torchrun pretrain_bert.py --context-parallel-size 2 --cp-comm-type a2a
    ```

    ## Use instead

    ```bash
    torchrun pretrain_bert.py --context-parallel-size 1
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
        Reference(
            "padding masks: transformer_engine/pytorch/attention.py:4908, :6701 at v1.11; "
            ".../dot_product_attention/backends.py:919, :2082 at v2.18, and measured on 2.20.2"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at the entry and the exchange first: few mask padding, and p2p, which most use, can do a bias."""
        wrong = next((comm for comm in comm_types(config) if comm in ("a2a", "all_gather", "a2a+p2p")), None)
        bias = _bias(config) if wrong is not None else ""
        if not bias and not _masks_padding(config):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        yield _mask(config, cp) if wrong is None or not bias else _added(config, bias, wrong, cp)


def _mask(config: EffectiveConfig, cp: int) -> Verdict:
    return Verdict(
        f"{config.launch.entry} masks padding in its attention, which Transformer Engine cannot do over cp = {cp} "
        "ranks: start-up passes, and every rank stops with an assertion in the first forward.",
        Outcome.CRASH_LATE,
        at="context_parallel_size",
        fix=Fix("Set context_parallel_size to 1."),
    )


def _added(config: EffectiveConfig, bias: str, wrong: str, cp: int) -> Verdict:
    return Verdict(
        f"{_spelt(config, bias)} adds a bias to the attention scores, and {wrong} cannot do that over cp = {cp} ranks: "
        "start-up passes, and every rank stops in Transformer Engine in the first forward.",
        Outcome.CRASH_LATE,
        at="cp_comm_type",
        fields=(bias, "context_parallel_size"),
        fix=Fix("Set cp_comm_type to p2p.", swap(config.value("cp_comm_type"), wrong, "p2p"), safe=wrong != A2A_P2P),
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
