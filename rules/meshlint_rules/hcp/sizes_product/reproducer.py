"""What shows HCP002."""

from __future__ import annotations

from math import prod

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Own, Reproducer, fixed
from meshlint.reproduce.own import MOST, Sizes, fewer_together, listed, numbers, told
from meshlint.reproduce.upstream import MEGATRON_NEEDS, MEGATRON_RUNS, core_case

BUILD = """\
from megatron.core import parallel_state

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(context_parallel_size={cp}, hierarchical_context_parallel_sizes={sizes})
built = parallel_state.get_hierarchical_context_parallel_groups()
check("levels", len(built), 2)
"""


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's levels over its cp: of many ranks, what both have in common is taken away."""
    found, levels = numbers(sizes, "context_parallel_size"), listed(sizes)
    if found is None or len(levels) != 2 or prod(levels) == found[0] or found[0] < 2:
        return None
    few, small = found[0], levels
    if few > MOST:
        cp, first = (few // levels[0], 1) if few % levels[0] == 0 else (few, levels[0])
        few, last = fewer_together(cp, levels[1])
        small = (first, last)
    if not 1 < few <= MOST or prod(small) == few:
        return None
    says = f"sizes {list(small)}, whose product is {prod(small)}, on a context-parallel group of {few} ranks"
    right = (few, 1)
    built = [BUILD.format(sizes=list(made), cp=few) for made in (small, right)]
    stand_in = Happens.CRASH if few % prod(small) else Happens.WRONG
    failing, good = (Setting("a2a+p2p", made, cp=few, seq=4 * few, heads=4 * few) for made in (small, right))
    cases = (
        core_case("product", says, built[0], built[1], "AssertionError", world=few),
        *attention_cases("product", says, failing, good, stand_in, real=False),
    )
    words = {"context_parallel_size": found[0], "levels": list(levels)}
    shrunk = {"context_parallel_size": (found[0], few), "levels": (list(levels), list(small))}
    return Own(cases, told(words, shrunk))


REPRODUCER = Reproducer(
    "HCP002",
    (
        Case(
            "too-many",
            "sizes whose product is 4 on a context-parallel group of 2 ranks",
            2,
            Arm(BUILD.format(sizes="[2, 2]", cp=2), Happens.CRASH, error="AssertionError"),
            fixed(BUILD.format(sizes="[2, 1]", cp=2)),
            depths=(Depth.CPU, Depth.GPU),
            needs=MEGATRON_NEEDS,
            alike=True,
            runs=MEGATRON_RUNS,
        ),
        *attention_cases(
            "too-many",
            "sizes whose product is 4 on a context-parallel group of 2 ranks",
            Setting("a2a+p2p", [2, 2]),
            Setting("a2a+p2p", [2, 1]),
            Happens.CRASH,
            real=False,
        ),
        *attention_cases(
            "too-few",
            "sizes whose product is 2 on a group of 4 ranks, where nothing checks it: attention over 2 ranks of 4",
            Setting("a2a+p2p", [2, 1], cp=4, seq=16),
            Setting("a2a+p2p", [2, 2], cp=4, seq=16),
            Happens.WRONG,
            real=False,
        ),
    ),
    own=own,
)
