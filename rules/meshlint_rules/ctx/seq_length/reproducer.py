"""What shows CTX001."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.own import divided
from meshlint.reproduce.upstream import MEGATRON_NEEDS

SLICED = """\
from megatron.core import parallel_state
from megatron.core.utils import get_batch_on_this_cp_rank

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(context_parallel_size=2)
batch = {{"tokens": torch.arange({seq})[None], "cu_seqlens": None}}
mine = get_batch_on_this_cp_rank(batch, False, parallel_state.get_context_parallel_group())
check("tokens of this rank", mine["tokens"].numel(), {seq} // 2)
"""
SAYS = "a sequence of 10 tokens divides by cp = 2 and not by the 2 * cp chunks that balance causal attention"


def of(seq: int, cp: int) -> tuple[Case, ...]:
    """Make the case of a sequence over cp ranks."""
    right = (seq // (2 * cp) + 1) * 2 * cp
    return attention_cases(
        "chunks",
        f"a sequence of {seq} tokens does not divide by the 2 * cp = {2 * cp} chunks of cp = {cp} ranks",
        Setting("p2p", seq=seq, cp=cp),
        Setting("p2p", seq=right, cp=cp),
        Happens.CRASH,
        real=False,
        error=f"cannot be cut into {2 * cp} equal parts",
    )


REPRODUCER = Reproducer(
    "CTX001",
    (
        Case(
            "chunks",
            SAYS,
            2,
            Arm(SLICED.format(seq=10), Happens.CRASH, error="is invalid for input of size"),
            fixed(SLICED.format(seq=12)),
            depths=(Depth.GPU,),
            needs=MEGATRON_NEEDS,
            alike=True,
            runs="megatron-core's own slicing of a batch",
        ),
        *attention_cases(
            "chunks",
            SAYS,
            Setting("p2p", seq=10),
            Setting("p2p", seq=12),
            Happens.CRASH,
            real=False,
            error="cannot be cut into 4 equal parts",
        ),
    ),
    own=divided("seq_length", "context_parallel_size", of, chunks=2, long=True),
)
