"""CTX007: an attention bias or a padding mask that the exchange cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import comm_types, swap, uses_te_core
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict

PADDING_MASKS = ("pretrain_bert.py", "pretrain_t5.py")
"""Entries whose attention masks padding (megatron/core/models/bert/bert_layer_specs.py:64 and T5/t5_spec.py:66)."""


class BiasOrMask(LaunchRule):
    """An attention bias or a padding mask that the exchange cannot do.

    ## What it does

    With cp > 1, finds a padding mask on unpacked sequences (BERT, T5) with any exchange, and an additive attention bias
    with an exchange other than `p2p`.

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
        masked = _masks_padding(config)
        biased = wrong is not None and not masked and bool(config.data("attention_bias"))
        if not biased and not masked:
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        yield _mask(config, cp) if wrong is None or masked else _added(config, wrong, cp)


def _mask(config: EffectiveConfig, cp: int) -> Verdict:
    return Verdict(
        f"{config.launch.entry} masks padding in its attention, which Transformer Engine cannot do over cp = {cp} "
        "ranks: start-up passes, and every rank stops with an assertion in the first forward.",
        Outcome.CRASH_LATE,
        at="context_parallel_size",
        fix=Fix("Set context_parallel_size to 1."),
    )


def _added(config: EffectiveConfig, wrong: str, cp: int) -> Verdict:
    return Verdict(
        f"attention_bias adds a bias to the attention scores, and {wrong} cannot do that over cp = {cp} ranks: "
        "start-up passes, and every rank stops in Transformer Engine in the first forward.",
        Outcome.CRASH_LATE,
        at="cp_comm_type",
        fields=("attention_bias", "context_parallel_size"),
        fix=Fix("Set cp_comm_type to p2p.", swap(config.value("cp_comm_type"), wrong, "p2p")),
    )


def _masks_padding(config: EffectiveConfig) -> bool:
    return _entry(config) in PADDING_MASKS


def _entry(config: EffectiveConfig) -> str:
    return config.launch.entry.rsplit("/", 1)[-1]


RULE = BiasOrMask
