"""What shows PAR002: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Own, Reproducer
from meshlint.reproduce.own import Sizes, numbers, ranks_left_over, told
from meshlint.reproduce.upstream import groups_case


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's ranks of one stage over its expert and expert-tensor degrees."""
    found = numbers(sizes, "world_size", "pipeline_model_parallel_size", "expert_model_parallel_size")
    within = numbers(sizes, "expert_tensor_parallel_size") or numbers(sizes, "tensor_model_parallel_size")
    if found is None or within is None or found[0] % found[1]:
        return None
    world, stages, ep = found
    few = ranks_left_over(world // stages, ep * within[0])
    if few is None:
        return None
    ranks, product = few
    case = groups_case(
        "product",
        f"{ranks} ranks with ep * etp = {product}",
        f"expert_model_parallel_size={product}, expert_tensor_parallel_size=1",
        f"expert_model_parallel_size={ranks}, expert_tensor_parallel_size=1",
        error="divisible by",
        world=ranks,
    )
    words = {"world_size": world, "pipeline_model_parallel_size": stages, "ep": ep, "etp": within[0]}
    shrunk = {"ranks of a stage": (world // stages, ranks), "ep * etp": (ep * within[0], product)}
    return Own((case,), told(words, shrunk))


REPRODUCER = Reproducer(
    "PAR002",
    (
        groups_case(
            "product",
            "a job of 2 ranks with ep = 4",
            "expert_model_parallel_size=4",
            "expert_model_parallel_size=2",
            error="divisible by",
        ),
    ),
    own=own,
    missing="the check is megatron-core's own, which must be installed",
)
