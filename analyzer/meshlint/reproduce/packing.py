"""Packed sequences under context parallelism: which tokens each rank takes, counted over all ranks.

The cut is that of Transformer Engine (thd_partition_src_index, transformer_engine/common/fused_attn/context_parallel.cu
at v2.20): the edges divided by cp and rounded down, each sequence in two halves, one from the front and one from the
back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from meshlint.reproduce.case import Arm, Case, Happens, Own, fixed
from meshlint.reproduce.own import Sizes, numbers, smallest, told

PARTITION_RUNS = "the arithmetic of Transformer Engine's cut, in plain Python, with the tokens of all ranks counted"

PARTITION = '''\
def taken(lengths):
    """Give the tokens that this rank takes of sequences in a row."""
    edges = [sum(lengths[:at]) // world for at in range(len(lengths) + 1)]
    tokens = []
    for at, length in enumerate(lengths):
        mine = edges[at + 1] - edges[at]
        for index in range(mine):
            offset = rank if index < mine // 2 else (world - 1) * 2 - rank
            tokens.append(index + edges[at] * world + mine // 2 * offset)
    return tokens

def counted(lengths):
    """Measure how often each token is taken by some rank: once in a right program."""
    theirs = [None] * world
    dist.all_gather_object(theirs, taken(lengths))
    times = [0.0] * sum(lengths)
    for tokens in theirs:
        for token in tokens:
            if token < len(times):
                times[token] += 1
    check("times that each token is taken", times, [1.0] * len(times))
'''


def partition(lengths: Sequence[int], before: str = "") -> str:
    """Write an arm that cuts sequences of these lengths."""
    return f"{before}counted({list(lengths)})\n"


def padded(name: str, says: str) -> Callable[[Sizes], Own | None]:
    """Make what shows sequences padded to a launch's multiple, and to 2 * cp; `says` takes pad, right and ranks."""

    def own(sizes: Sizes) -> Own | None:
        found = numbers(sizes, "pad_multiple", "context_parallel_size")
        few = None if found is None else smallest(found[0], found[1], chunks=2)
        if found is None or few is None:
            return None
        pad, cp = found
        small = pad % (2 * few)  # the same is left over of each sequence
        told_case = says.format(pad=small, right=2 * few, ranks=few)
        failing, right = (partition([3 * unit, unit]) for unit in (small, 2 * few))
        arms = Arm(failing, Happens.WRONG), fixed(right)
        case = Case(name, told_case, few, *arms, prelude=PARTITION, runs=PARTITION_RUNS)
        words = {"pad multiple": pad, "context_parallel_size": cp}
        return Own((case,), told(words, {"pad multiple": (pad, small), "context_parallel_size": (cp, few)}))

    return own
