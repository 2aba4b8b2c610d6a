"""What shows PAR001: an assertion of megatron-core's own."""

from __future__ import annotations

from math import prod

from meshlint.reproduce.case import Own, Reproducer
from meshlint.reproduce.own import Sizes, numbers, ranks_left_over, told
from meshlint.reproduce.upstream import groups_case

DEGREES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's ranks, with one degree that is as large as all together."""
    found = numbers(sizes, "world_size", *DEGREES)
    few = None if found is None else ranks_left_over(found[0], prod(found[1:]))
    if found is None or few is None:
        return None
    ranks, product = few
    case = groups_case(
        "product",
        f"a job of {ranks} ranks with sizes whose product is {product}",
        f"tensor_model_parallel_size={product}",
        f"tensor_model_parallel_size={ranks}",
        error="is not divisible by",
        world=ranks,
    )
    words = {"world_size": found[0], **{name: size for name, size in zip(DEGREES, found[1:], strict=True) if size > 1}}
    return Own((case,), told(words, {"world_size": (found[0], ranks), "their product": (prod(found[1:]), product)}))


REPRODUCER = Reproducer(
    "PAR001",
    (
        groups_case(
            "product",
            "a job of 2 ranks with tp = 2 and cp = 2",
            "tensor_model_parallel_size=2, context_parallel_size=2",
            "tensor_model_parallel_size=2",
            error="is not divisible by",
        ),
    ),
    own=own,
    missing="the check is megatron-core's own, which must be installed",
)
