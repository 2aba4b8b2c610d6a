"""What shows CTX008, each case on the releases that it speaks of."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

FACTORY = "from transformer_engine.pytorch.custom_recipes.quantizer_factories import current_scaling_factory\n"
CUSTOM = {"recipe": "CustomRecipe(qfactory=current_scaling_factory, fp8_dpa=True)"}
DELAYED = {"recipe": "DelayedScaling(fp8_dpa=True)"}
OFF = {"recipe": "None"}

CASES = (
    *attention_cases(
        "mla",
        "FP8 attention on keys 192 wide and values 128 wide (failing) and the same in bf16 (fixed), on Transformer "
        "Engine from 2.6 to 2.14",
        Setting("p2p", real=DELAYED | {"wide": True}),
        Setting("p2p", real=OFF | {"wide": True}),
        Happens.CRASH,
        stand_in=False,
        real_error="No dot product attention",
        releases=">=2.6,<2.15",
    ),
    *attention_cases(
        "custom-recipe",
        "FP8 attention by a custom recipe (failing) and attention in bf16 (fixed), on Transformer Engine from 2.16",
        Setting("p2p", before=FACTORY, real=CUSTOM),
        Setting("p2p", real=OFF),
        Happens.CRASH,
        stand_in=False,
        real_error="NotImplementedError",
        releases=">=2.16",
    ),
)

REPRODUCER = Reproducer(
    "CTX008",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="which FP8 attention there is depends on Transformer Engine and the GPU",
)
