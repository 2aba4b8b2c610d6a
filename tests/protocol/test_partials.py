"""`functools.partial` of a function of a library acts where the partial is called, with what it was given."""

from __future__ import annotations

from meshlint.protocol.program import Program, facts_of

HEAD = """\
import functools
from functools import partial

import torch.distributed as dist
from megatron.core import parallel_state as mpu


def f(x):
"""


def _found(*lines: str) -> list[tuple[str, int]]:
    text = HEAD + "".join(f"    {line}\n" for line in lines)
    return [(f.code, f.span.line) for f in Program(("a.py",), facts_of({"a.py": text}.items())).faults()]


def test_it_acts_where_it_is_called() -> None:
    made = "op = partial(dist.all_reduce, op=dist.ReduceOp.MAX)"
    assert _found(made, "if dist.get_rank() == 0:", "    op(x)") == [("COL001", 11)]
    assert _found(made, "op(x)") == []
    assert _found(made, "if dist.get_rank() == 0:", "    print(op)") == []


def test_it_acts_on_the_group_that_it_was_given_last() -> None:
    made = "op = functools.partial(dist.all_reduce, group=mpu.get_data_parallel_group())"
    gate = "if mpu.get_tensor_model_parallel_rank() == 0:"
    assert _found(made, gate, "    op(x)") == []
    again = "op = functools.partial(op, group=mpu.get_tensor_model_parallel_group())"
    assert _found(made, again, gate, "    op(x)") == [("COL001", 12)]
    assert _found(made, gate, "    op(x, group=mpu.get_tensor_model_parallel_group())") == [("COL001", 11)]


def test_what_it_reduces_is_alike_afterwards() -> None:
    made = "op = partial(dist.all_reduce, op=dist.ReduceOp.MAX)"
    assert _found(made, "t = x * dist.get_rank()", "op(t)", "if t.item() > 0:", "    dist.barrier()") == []
