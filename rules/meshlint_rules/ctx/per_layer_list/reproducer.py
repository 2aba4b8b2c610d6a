"""What shows CTX009."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.upstream import MEGATRON_NEEDS, MEGATRON_RUNS

CONFIG = """\
from megatron.core.transformer.transformer_config import TransformerConfig

config = TransformerConfig(
    num_layers=4, hidden_size=64, num_attention_heads=4, context_parallel_size=2, cp_comm_type={types}
)
check("types", len(config.cp_comm_type), 4)
"""

REPRODUCER = Reproducer(
    "CTX009",
    (
        Case(
            "too-few",
            "a list of two comm types for four layers",
            1,
            Arm(CONFIG.format(types='["p2p", "a2a"]'), Happens.CRASH, error="should equal to"),
            fixed(CONFIG.format(types='["p2p", "a2a"] * 2')),
            depths=(Depth.CPU, Depth.GPU),
            needs=MEGATRON_NEEDS,
            alike=True,
            runs=MEGATRON_RUNS,
        ),
    ),
    missing="the assertion is megatron-core's own",
)
