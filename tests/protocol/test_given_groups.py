"""Groups of which only the identity is known: the same value is the same group, another value may be any group."""

from __future__ import annotations

import pytest

from meshlint.protocol.program import CodeFault, Program, facts_of

HEAD = "import torch.distributed as dist\n"


def faults(body: str, **others: str) -> list[CodeFault]:
    texts = [("main.py", HEAD + body), *((f"{name}.py", text) for name, text in others.items())]
    facts = facts_of(texts)
    return list(Program(tuple(facts), facts).faults())


def found(body: str, **others: str) -> list[tuple[str, str, int]]:
    return [(f.code, f.severity.value, f.span.line) for f in faults(body, **others)]


def test_the_first_rank_of_a_given_group_alone_on_that_group() -> None:
    body = """
def total(x, group):
    if dist.get_rank(group) == 0:
        dist.all_reduce(x, group=group)
"""
    assert found(body) == [("COL001", "error", 5)]
    assert "on the `group` group" in faults(body)[0].message


def test_a_given_group_through_an_attribute_and_two_calls() -> None:
    body = """
class Norm:
    def __init__(self, process_group):
        self.process_group = process_group

    def run(self, x):
        if dist.get_rank(self.process_group) == 0:
            self.reduced(x)

    def reduced(self, x):
        helper(x, self.process_group)

def helper(x, group):
    dist.all_reduce(x, group=group)
"""
    assert found(body) == [("COL001", "error", 9)]


def test_the_group_and_the_place_on_a_given_mesh() -> None:
    body = """
def total(x, mesh, axis):
    if mesh.get_local_rank(axis) == 0:
        return x
    dist.all_reduce(x, group=mesh.get_group(axis))
"""
    assert found(body) == [("COL002", "error", 5)]


def test_the_world_inside_of_a_gate_of_a_given_group() -> None:
    body = """
def total(group):
    if dist.get_rank(group) == 0:
        dist.barrier()
"""
    assert found(body) == [("COL001", "error", 5)]


def test_the_world_on_one_side_and_a_given_group_on_the_other_may_be_one() -> None:
    body = """
def total(x, group):
    if dist.get_rank(group) == 0:
        dist.all_reduce(x, group=group)
    else:
        dist.all_reduce(x)
"""
    assert ("COL003", "warning", 5) in found(body)


@pytest.mark.parametrize(
    "test",
    [
        "dist.get_rank() == 0",
        "dist.get_rank() < 4",
        "dist.get_rank(other) == 0",
        "dist.get_rank() in ranks",
        "dist.get_world_size(group) > 1",
        "group is not None",
    ],
)
def test_gates_that_do_not_speak_of_the_group_say_nothing(test: str) -> None:
    body = f"""
def total(x, group, other, ranks):
    if {test}:
        dist.broadcast(x, 0, group=group)
"""
    assert found(body) == []


def test_a_reduction_over_a_given_group_makes_uniform() -> None:
    body = """
def total(x, group):
    dist.all_reduce(x, group=group)
    if x.item() > 0:
        dist.all_reduce(x, group=group)
"""
    assert found(body) == []


def test_a_group_that_a_name_chooses_is_one_of_two() -> None:
    body = """
from megatron.core import parallel_state as mpu

def total(x, name):
    group = mpu.get_expert_data_parallel_group() if "experts" in name else mpu.get_data_parallel_group()
    if dist.get_rank(group) == 0:
        dist.all_reduce(x, group=group)
"""
    assert {code for code, _, _ in found(body)} == {"COL001"}


def test_a_mesh_by_its_name() -> None:
    body = """
def total(x, tp_mesh):
    if tp_mesh.get_local_rank() == 0:
        dist.all_reduce(x, group=tp_mesh.get_group())
"""
    assert found(body) == [("COL001", "warning", 5)]


def test_a_wrapper_that_hands_on_to_something_made_at_run_time_keeps_its_model() -> None:
    wrapper = """
backend = None

def all_reduce(tensor, op=None, group=None, async_op=False):
    global backend
    return backend.all_reduce(tensor, op, group, async_op)

def get_rank(group=None):
    return backend.get_rank(group)
"""
    body = """
def total(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
"""
    head = "import deepspeed.comm.comm as dist\n"
    texts = [("main.py", head + body), ("deepspeed/comm/comm.py", wrapper), ("deepspeed/__init__.py", "")]
    texts.append(("deepspeed/comm/__init__.py", ""))
    facts = facts_of(texts)
    assert [f.code for f in Program(tuple(facts), facts).faults()] == ["COL001"]
