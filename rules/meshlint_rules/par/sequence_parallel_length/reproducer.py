"""What shows PAR006."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import core_case

SCATTERED = """\
from megatron.core import parallel_state
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
mine = scatter_to_sequence_parallel_region(torch.ones({tokens}, 1, 4))
check("tokens of this rank", mine.shape[0], {tokens} / 2)
"""

REPRODUCER = Reproducer(
    "PAR006",
    (
        core_case(
            "scatter",
            "a sequence of 9 tokens over two tensor-parallel ranks under sequence parallelism",
            SCATTERED.format(tokens=9),
            SCATTERED.format(tokens=10),
            "should be divisible by",
            world=2,
        ),
    ),
    missing="the assertion is megatron-core's own, which must be installed",
)
