"""What shows MOE002."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.own import divided
from meshlint.reproduce.upstream import extracted_case

SPLIT = """\
experts, ep = {experts}, 2
mine = [rank * (experts // ep) + at for at in range(experts // ep)]
theirs = [None] * ep
dist.all_gather_object(theirs, mine)
check("experts that some rank holds", float(sum(len(one) for one in theirs)), experts)
"""
RUNS = "the arithmetic of megatron-core's split of experts, without its assertion"
SAYS = "three experts over two expert-parallel ranks: the third is held by nobody"


def of(experts: int, ep: int) -> tuple[Case, ...]:
    """Make the case of experts over expert-parallel ranks."""
    failing, right = (
        SPLIT.format(experts=count).replace(", 2\n", f", {ep}\n") for count in (experts, experts // ep * ep or ep)
    )
    says = f"{experts} experts over {ep} expert-parallel ranks: those left over are held by nobody"
    return (extracted_case("experts", says, failing, right, RUNS, world=ep),)


REPRODUCER = Reproducer(
    "MOE002",
    (
        Case(
            "experts",
            SAYS,
            2,
            Arm(SPLIT.format(experts=3), Happens.WRONG),
            fixed(SPLIT.format(experts=4)),
            depths=(Depth.SIMULATE, Depth.CPU),
            runs=RUNS,
        ),
    ),
    own=divided("num_moe_experts", "expert_model_parallel_size", of),
)
