"""What shows PAR004."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.upstream import MEGATRON_NEEDS, MEGATRON_RUNS

CONFIG = """\
from megatron.core.transformer.transformer_config import TransformerConfig

config = TransformerConfig(num_layers=1, hidden_size=96, num_attention_heads={heads}, tensor_model_parallel_size=2)
check("heads", config.num_attention_heads, {heads})
"""
SPLIT = """\
hidden, tp = list(range(12)), 2
heads = [hidden[at * 4 : at * 4 + 4] for at in range({heads})]
mine = heads[rank * len(heads) // tp : (rank + 1) * len(heads) // tp]
check("heads of this rank", float(len(mine)), len(heads) / tp)
"""
SAYS = "three attention heads over two tensor-parallel ranks"

REPRODUCER = Reproducer(
    "PAR004",
    (
        Case(
            "heads",
            SAYS,
            2,
            Arm(CONFIG.format(heads=3), Happens.CRASH, error="must be a multiple of"),
            fixed(CONFIG.format(heads=4)),
            depths=(Depth.CPU, Depth.GPU),
            needs=MEGATRON_NEEDS,
            alike=True,
            runs=MEGATRON_RUNS,
        ),
        Case(
            "heads",
            SAYS + ": one rank has more of them than the other",
            2,
            Arm(SPLIT.format(heads=3), Happens.WRONG),
            fixed(SPLIT.format(heads=4)),
            depths=(Depth.SIMULATE,),
        ),
    ),
)
