"""What shows HCP002."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.upstream import MEGATRON_NEEDS, MEGATRON_RUNS

BUILD = """\
from megatron.core import parallel_state

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(context_parallel_size=2, hierarchical_context_parallel_sizes={sizes})
built = parallel_state.get_hierarchical_context_parallel_groups()
check("levels", len(built), 2)
"""

REPRODUCER = Reproducer(
    "HCP002",
    (
        Case(
            "too-many",
            "sizes whose product is 4 on a context-parallel group of 2 ranks",
            2,
            Arm(BUILD.format(sizes="[2, 2]"), Happens.CRASH, error="AssertionError"),
            fixed(BUILD.format(sizes="[2, 1]")),
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
)
