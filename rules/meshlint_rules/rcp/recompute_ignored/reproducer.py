"""What shows RCP001."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import of_subject
from meshlint.reproduce.upstream import config_case, core_case, extracted_case

PLAN = """\
def kept(layers, granularity=None, method=None, number=None):  # in a stage; the others are run again backwards
    if granularity != "full":
        return layers
    return layers - number if method == "block" else 0

check("layers whose activations are kept", float(kept(4, {words})), 0)
"""
ACCEPTED = """\
from megatron.core.transformer.transformer_config import TransformerConfig

config = TransformerConfig(num_layers=4, hidden_size=64, num_attention_heads=4, {words})
check("layers run again backwards", 4.0 * (config.recompute_granularity == "full"), 4)
"""
UNIFORM = "recompute_method='uniform', recompute_num_layers=1"

CASES = (
    core_case(
        "no-granularity",
        "a method and a number of layers without a granularity: accepted, and nothing is recomputed",
        ACCEPTED.format(words=UNIFORM),
        ACCEPTED.format(words=f"{UNIFORM}, recompute_granularity='full'"),
        happens=Happens.WRONG,
        runs="megatron-core's config; that its block recomputes with full only is read "
        "(transformer_block.py:735 at core_v0.16.1)",
    ),
    extracted_case(
        "no-granularity",
        "a method and a number of layers without a granularity: nothing is recomputed",
        PLAN.format(words="method='uniform', number=1"),
        PLAN.format(words="granularity='full', method='uniform', number=1"),
        "the choice of megatron-core's block (transformer_block.py:735 at core_v0.16.1)",
    ),
    config_case(
        "selective-with-number",
        "selective recompute with a number of layers (failing) and without (fixed)",
        "recompute_granularity='selective', recompute_num_layers=1",
        "recompute_granularity='selective'",
        error="recompute_num_layers must be None",
    ),
)

REPRODUCER = Reproducer(
    "RCP001",
    CASES,
    own=of_subject(CASES, {"recompute_method": "no-granularity", "recompute_num_layers": "selective-with-number"}),
    sizeless="none of them is about this very setting",
)
