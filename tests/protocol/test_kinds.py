"""Ranks of a wrong kind, sizes of other dims, and what classes and views hold."""

from __future__ import annotations

import pytest

from meshlint.protocol.program import Program, facts_of

HEAD = """
import os
import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu
"""


def found(body: str) -> list[tuple[str, str]]:
    facts = facts_of([("main.py", HEAD + body)])
    return [(fault.code, fault.severity.value) for fault in Program(("main.py",), facts).faults()]


@pytest.mark.parametrize("rank", ['int(os.environ["LOCAL_RANK"])', 'int(os.getenv("LOCAL_RANK", 0))'])
def test_the_rank_inside_of_a_node_as_the_rank_of_the_job(rank: str) -> None:
    body = f"""
def start():
    rank = {rank}
    dist.init_process_group("nccl", rank=rank, world_size=8)
"""
    assert found(body) == [("GRP002", "warning")]


def test_the_rank_of_the_job_as_itself() -> None:
    body = """
def start():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=8)
"""
    assert found(body) == []


RINGS = """
def rings(size):
    group = mpu.get_context_parallel_group()
    place = PLACE
    mine = None
    for start in range(0, dist.get_world_size(), size):
        ranks = list(range(start, start + size))
        made = dist.new_group(ranks)
        if place in ranks:
            mine = made
    return mine
"""


def test_a_place_among_ranks_from_which_groups_are_made() -> None:
    assert found(RINGS.replace("PLACE", "dist.get_rank(group)")) == [("GRP002", "error")]
    assert found(RINGS.replace("PLACE", "dist.get_rank()")) == []


def test_the_last_place_as_a_source() -> None:
    body = """
def share(x):
    group = mpu.get_pipeline_model_parallel_group()
    dist.broadcast(x, src=SOURCE, group=group)
"""
    assert found(body.replace("SOURCE", "dist.get_world_size(group) - 1")) == [("GRP002", "error")]
    assert found(body.replace("SOURCE", "mpu.get_pipeline_model_parallel_last_rank()")) == []


@pytest.mark.parametrize(
    ("test", "group", "codes"),
    [
        ("mpu.get_tensor_model_parallel_world_size() > 1", "mpu.get_data_parallel_group()", [("GRP004", "warning")]),
        ("mpu.get_data_parallel_world_size() > 1", "mpu.get_data_parallel_group()", []),
        ("mpu.get_tensor_model_parallel_world_size() == 1", "mpu.get_data_parallel_group()", []),
        ("mpu.get_tensor_model_parallel_world_size() > 1", "None", []),
        ("mpu.get_tensor_model_parallel_world_size() > 1", "mpu.get_expert_tensor_parallel_group()", []),
    ],
)
def test_the_size_of_other_dims(test: str, group: str, codes: list[tuple[str, str]]) -> None:
    body = f"""
def reduce(grad):
    if {test}:
        dist.all_reduce(grad, group={group})
"""
    assert found(body) == codes


def test_a_function_that_is_only_for_other_dims() -> None:
    body = """
def reduce(grad):
    if mpu.get_tensor_model_parallel_world_size() == 1:
        return
    dist.all_reduce(grad, group=mpu.get_data_parallel_group())
"""
    assert found(body) == []


def test_a_group_under_a_key_of_a_dict_of_the_class() -> None:
    body = """
class Tracker:
    values = {}

    @classmethod
    def start(cls):
        cls.values["group"] = mpu.get_data_parallel_group()

    @classmethod
    def reduce(cls, x):
        dist.all_reduce(x, group=cls.values["group"])

def report(x):
    if mpu.get_RANK() == 0:
        Tracker.reduce(x)
"""
    assert found(body.replace("RANK", "data_parallel_rank")) == [("COL001", "error")]
    assert found(body.replace("RANK", "tensor_model_parallel_rank")) == []


def test_a_view_of_a_parameter_shares_its_storage() -> None:
    body = """
def decide(flag):
    flag.fill_(dist.get_rank() == 0)
    flat = flag.view(-1)
    REDUCE
    if flag.item():
        dist.barrier()
"""
    assert found(body.replace("REDUCE", "dist.all_reduce(flat)")) == []
    assert found(body.replace("REDUCE", "pass")) == [("COL001", "error")]


def test_a_metric_that_the_function_makes() -> None:
    body = """
from torchmetrics import MeanMetric

def report(values):
    metric = MeanMetric()
    metric.update(values)
    if dist.get_rank() == 0:
        print(metric.compute())
"""
    assert found(body) == [("COL007", "error")]
