"""What shows PAR010: an assertion of megatron-core's own."""

from __future__ import annotations

from meshlint.reproduce.case import Own, Reproducer
from meshlint.reproduce.own import Sizes, data_parallel, numbers, ranks_left_over, told
from meshlint.reproduce.upstream import groups_case


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's data-parallel ranks and instances."""
    found, dp = numbers(sizes, "num_distributed_optimizer_instances"), data_parallel(sizes)
    few = None if found is None or dp is None else ranks_left_over(dp, found[0])
    if found is None or dp is None or few is None:
        return None
    ranks, instances = few
    case = groups_case(
        "instances",
        f"{instances} instances of the optimizer over {ranks} data-parallel ranks",
        f"num_distributed_optimizer_instances={instances}",
        "num_distributed_optimizer_instances=1",
        error="Error",
        world=ranks,
    )
    words = {"num_distributed_optimizer_instances": found[0], "data-parallel ranks": dp}
    shrunk = {"data-parallel ranks": (dp, ranks), "num_distributed_optimizer_instances": (found[0], instances)}
    return Own((case,), told(words, shrunk))


REPRODUCER = Reproducer(
    "PAR010",
    (
        groups_case(
            "instances",
            "three instances of the optimizer over two data-parallel ranks",
            "num_distributed_optimizer_instances=3",
            "num_distributed_optimizer_instances=2",
            error="Error",
        ),
    ),
    own=own,
    missing="the check is megatron-core's own, which must be installed",
)
