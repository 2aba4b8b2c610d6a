"""What shows PAR006."""

from __future__ import annotations

from meshlint.reproduce.case import Case, Reproducer
from meshlint.reproduce.own import divided
from meshlint.reproduce.upstream import core_case

SCATTERED = """\
from megatron.core import parallel_state
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(tensor_model_parallel_size={tp})
mine = scatter_to_sequence_parallel_region(torch.ones({tokens}, 1, 4))
check("tokens of this rank", mine.shape[0], {tokens} / {tp})
"""


def of(tokens: int, tp: int) -> tuple[Case, ...]:
    """Make the case of tokens over tensor-parallel ranks."""
    failing, right = (SCATTERED.format(tokens=count, tp=tp) for count in (tokens, (tokens // tp + 1) * tp))
    says = f"a sequence of {tokens} tokens over {tp} tensor-parallel ranks under sequence parallelism"
    return (core_case("scatter", says, failing, right, "should be divisible by", world=tp),)


REPRODUCER = Reproducer(
    "PAR006",
    (
        core_case(
            "scatter",
            "a sequence of 9 tokens over two tensor-parallel ranks under sequence parallelism",
            SCATTERED.format(tokens=9, tp=2),
            SCATTERED.format(tokens=10, tp=2),
            "should be divisible by",
            world=2,
        ),
    ),
    own=divided("seq_length", "tensor_model_parallel_size", of, long=True),
    missing="the assertion is megatron-core's own, which must be installed",
)
