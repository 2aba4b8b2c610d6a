"""What shows FRW003."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import core_case, extracted_case

REAL = """\
from megatron.core import parallel_state

def build(tp):  # verl: groups that exist are kept
    if not parallel_state.model_parallel_is_initialized():
        parallel_state.initialize_model_parallel(tensor_model_parallel_size=tp)
    return parallel_state.get_tensor_model_parallel_world_size()

parallel_state.destroy_model_parallel()
build({actor})
check("tp of the reference model", build(2), 2)
"""
EXTRACTED = """\
built = {{}}

def build(tp):  # verl: groups that exist are kept
    built.setdefault("tp", tp)
    return built["tp"]

build({actor})
check("tp of the reference model", float(build(2)), 2)
"""
SAYS = "a reference model with tp = 2 in the processes of an actor with tp = 1 (failing) and tp = 2 (fixed)"
MERGE = "verl/workers/engine/megatron/transformer_impl.py:245-259 at 1dda039b9"

REPRODUCER = Reproducer(
    "FRW003",
    (
        core_case(
            "reference",
            SAYS,
            REAL.format(actor=1),
            REAL.format(actor=2),
            world=2,
            happens=Happens.WRONG,
            runs=f"megatron-core's groups; that those which exist are kept is verl's, extracted ({MERGE})",
        ),
        extracted_case(
            "reference",
            SAYS,
            EXTRACTED.format(actor=1),
            EXTRACTED.format(actor=2),
            f"verl's choice, extracted ({MERGE})",
        ),
    ),
    sizeless="groups that exist are kept at any size",
)
