"""What shows CTX009."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Own, Reproducer, fixed
from meshlint.reproduce.own import Sizes, numbers, told
from meshlint.reproduce.upstream import MEGATRON_NEEDS, MEGATRON_RUNS, core_case

CONFIG = """\
from megatron.core.transformer.transformer_config import TransformerConfig

config = TransformerConfig(
    num_layers={layers}, hidden_size=64, num_attention_heads=4, context_parallel_size=2, cp_comm_type={types}
)
check("types", len(config.cp_comm_type), {layers})
"""


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's list and layers, one word for all of the list's."""
    found, types = numbers(sizes, "num_layers"), sizes.get("cp_comm_type")
    if found is None or not isinstance(types, list) or len(types) == found[0]:
        return None
    (layers,) = found
    failing, right = (CONFIG.format(types=f'["p2p"] * {count}', layers=layers) for count in (len(types), layers))
    says = f"a list of {len(types)} comm types for {layers} layers"
    words = {"comm types": len(types), "num_layers": layers}
    return Own((core_case("length", says, failing, right, "should equal to"),), told(words, {}))


REPRODUCER = Reproducer(
    "CTX009",
    (
        Case(
            "too-few",
            "a list of two comm types for four layers",
            1,
            Arm(CONFIG.format(types='["p2p", "a2a"]', layers=4), Happens.CRASH, error="should equal to"),
            fixed(CONFIG.format(types='["p2p", "a2a"] * 2', layers=4)),
            depths=(Depth.CPU, Depth.GPU),
            needs=MEGATRON_NEEDS,
            alike=True,
            runs=MEGATRON_RUNS,
        ),
    ),
    own=own,
    missing="the assertion is megatron-core's own",
)
