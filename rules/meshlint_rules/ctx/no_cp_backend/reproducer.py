"""What shows CTX006."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Own, Reproducer, fixed
from meshlint.reproduce.own import Sizes, numbers, told
from meshlint.reproduce.upstream import MEGATRON_NEEDS, MEGATRON_RUNS

LOCAL = """\
from megatron.core import parallel_state
from megatron.core.transformer.dot_product_attention import DotProductAttention
from megatron.core.transformer.enums import AttnMaskType
from megatron.core.transformer.transformer_config import TransformerConfig

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(context_parallel_size={cp})
config = TransformerConfig(num_layers=1, hidden_size=64, num_attention_heads=4, context_parallel_size={cp})
core = DotProductAttention(config, 1, AttnMaskType.causal, "self")
check("heads of the layer", core.num_attention_heads_per_partition, 4)
"""
SWITCHED = """\
import os
os.environ |= {"NVTE_FUSED_ATTN": "0", "NVTE_FLASH_ATTN": "0"}
"""
BACK = """\
import os
os.environ |= {"NVTE_FUSED_ATTN": "1", "NVTE_FLASH_ATTN": "1"}
"""

CASES = (
    Case(
        "local",
        "megatron-core's own attention (transformer_impl local) built with cp = 2 (failing) and cp = 1 (fixed)",
        2,
        Arm(LOCAL.format(cp=2), Happens.CRASH, error="AssertionError"),
        fixed(LOCAL.format(cp=1)),
        depths=(Depth.CPU, Depth.GPU),
        needs=MEGATRON_NEEDS,
        alike=True,
        runs=MEGATRON_RUNS,
    ),
    *attention_cases(
        "unfused",
        "attention_backend unfused, which switches Transformer Engine's fused and flash attention off",
        Setting("p2p", before=SWITCHED),
        Setting("p2p", before=BACK),
        Happens.CRASH,
        stand_in=False,
        fresh=True,
    ),
)
CP = "context_parallel_size"
CLAUSES = {"transformer_impl": ("local", CASES[:1]), "attention_backend": ("unfused", CASES[1:])}


def own(sizes: Sizes) -> Own | None:
    """Give the case of the setting that a finding is about, the smallest of any cp above 1."""
    found, about = numbers(sizes, CP), str(sizes.get("subject"))
    if found is None or found[0] < 2 or about not in CLAUSES:
        return None
    value, cases = CLAUSES[about]
    return Own(cases, told({CP: found[0], about: value}, {CP: (found[0], 2)}))


REPRODUCER = Reproducer(
    "CTX006",
    CASES,
    own=own,
    missing="the assertions are megatron-core's and Transformer Engine's own",
)
