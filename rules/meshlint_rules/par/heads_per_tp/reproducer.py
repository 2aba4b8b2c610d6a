"""What shows PAR004."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.own import divided
from meshlint.reproduce.upstream import MEGATRON_NEEDS, MEGATRON_RUNS, core_case, extracted_case

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


def of(heads: int, tp: int) -> tuple[Case, ...]:
    """Make the cases of heads over tensor-parallel ranks."""
    says, right = f"{heads} attention heads over {tp} tensor-parallel ranks", heads // tp * tp or tp
    built, split = (
        [
            text.format(heads=count)
            .replace("hidden_size=96", f"hidden_size={heads * right * 8}")
            .replace("model_parallel_size=2", f"model_parallel_size={tp}")
            .replace("list(range(12)), 2", f"list(range({4 * max(heads, right)})), {tp}")
            for count in (heads, right)
        ]
        for text in (CONFIG, SPLIT)
    )
    return (
        core_case("heads", says, built[0], built[1], "must be a multiple of", world=tp),
        extracted_case(
            "heads", f"{says}: some have more of them than others", split[0], split[1],
            "the split of heads, without its assertion", world=tp,
        ),
    )  # fmt: skip


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
    own=divided("num_attention_heads", "tensor_model_parallel_size", of),
)
