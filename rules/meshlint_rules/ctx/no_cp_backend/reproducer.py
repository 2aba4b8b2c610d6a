"""What shows CTX006."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
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

REPRODUCER = Reproducer(
    "CTX006",
    (
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
    ),
    missing="the assertions are megatron-core's and Transformer Engine's own",
)
