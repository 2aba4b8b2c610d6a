"""What shows CTX007: assertions of Transformer Engine's own."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

BIAS = {"biased": True}

CASES = (
    *attention_cases(
        "bias",
        "a bias on the attention scores with a2a (failing) and with p2p (fixed)",
        Setting("a2a", real=BIAS),
        Setting("p2p", real=BIAS),
        Happens.CRASH,
        stand_in=False,
        real_error="No dot product attention backend | post_scale_bias",
    ),
    *attention_cases(
        "padding-mask",
        "p2p with a padding mask (failing) and without any mask (fixed)",
        Setting("p2p", real={"masked": True}),
        Setting("p2p", real={"masked": False}),
        Happens.CRASH,
        stand_in=False,
        real_error="Padding mask not supported",
    ),
)

REPRODUCER = Reproducer(
    "CTX007",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which exchange knows biases and masks is for Transformer Engine to say",
)
