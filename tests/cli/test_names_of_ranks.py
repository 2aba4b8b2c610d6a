"""What a picture of ranks says of names that stand in no program: positions, numbers, levels, what a call makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

HEAD = "import torch.distributed as dist\nfrom megatron.core import parallel_state as mpu\n\n\n"

GIVEN = """class Gather:
    def __init__(self, group):
        self.group = group

    def run(self, x):
        if dist.get_rank(group=self.group) == 0:
            dist.all_reduce(x, group=self.group)
"""
LISTED = """def run(x, group, ranks):
    ranks = dist.get_process_group_ranks(group)
    if dist.get_rank() == ranks[0]:
        dist.all_reduce(x, group=group)
"""
NAMED = """def run(x):
    mesh = dist.init_device_mesh("cuda", (2, 4), mesh_dim_names=("near", "far"))
    if mesh.get_local_rank("near") == 0:
        dist.all_reduce(x, group=mesh["near"].get_group())
"""
ASKED = """def run(x):
    mesh = dist.init_device_mesh("cuda", (2, 4), mesh_dim_names=("near1", "far1"))
    if mesh["far1"].get_local_rank() == 0:
        dist.all_reduce(x)
"""
REPLICA = """class Engine:
    def __init__(self, optimizer, mpu):
        part = dist.get_rank(group=optimizer.dp_process_group)
        self.writes = part == (mpu.get_data_parallel_rank() if mpu else dist.get_rank())

    def save(self):
        if self.writes:
            dist.barrier()
"""
WORLD = "def run(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"
TENSOR = """def run(model):
    for parameter in model.parameters():
        if dist.get_rank() == 0:
            parameter.full_tensor()
"""
EXPERTS = """def run(x):
    if mpu.get_tensor_model_parallel_rank() == 0:
        dist.all_reduce(x, group=mpu.get_expert_model_parallel_group())
"""
INSIDE = """def run(losses):
    if mpu.get_data_parallel_rank() == 0:
        average_losses_across_data_parallel_group(losses)
"""
KNOWN = """def run(x):
    if mpu.get_tensor_model_parallel_rank() == 0:
        dist.all_reduce(x, group=mpu.get_tensor_model_parallel_group())
"""


def told(meshlint: CommandLine, folder: Path, body: str) -> tuple[str, str]:
    """Give the message of the only finding, as JSON and as text have it."""
    (folder / "run.py").write_text(HEAD + body)
    words = ("check", "--isolated", "--no-cache", "--select", "COL", "--fail-level", "info", folder / "run.py")
    [finding] = json.loads(meshlint(*words, "--format", "json").out)["findings"]
    return finding["message"], meshlint(*words, "--verbose").out


@pytest.mark.parametrize(
    ("body", "ranks", "lines"),
    [
        (GIVEN, "place0", ["place0, place1: positions inside the group `self.group`, whose dims are not known here"]),
        (
            LISTED,
            "dp0 place0",
            [
                "place0, place1: positions inside the group `group`, whose dims are not known here",
                "dp0, dp1: ranks of the job in different groups",
            ],
        ),
        (NAMED, "near0", []),
        (ASKED, "place0", ["place0, place1: positions along the mesh dim `far1`"]),
        (WORLD, "rank0", []),
        (
            TENSOR,
            "dp0 place0",
            [
                "place0, place1: positions inside the tensor's mesh, whose dims are not known here",
                "dp0, dp1: ranks of the job in different groups",
            ],
        ),
        (EXPERTS, "tp0", ["ep: experts lay the ranks out in dims of their own; one group holds several tp"]),
        (
            REPLICA,
            "tp0 place0",
            ["place0, place1: positions along a dim that line 11 asks for, which is not known here"],
        ),
        (INSIDE, "dp0", ["all_reduce: made inside `average_losses_across_data_parallel_group`"]),
        (KNOWN, "tp0", []),
    ],
)
def test_each_name_that_is_not_the_programs_is_explained_once(
    meshlint: CommandLine, tmp_path: Path, body: str, ranks: str, lines: list[str]
) -> None:
    message, text = told(meshlint, tmp_path, body)
    drawn = message.split("\n\n")[1].splitlines()
    assert drawn[1].startswith(f"  {ranks}  ")
    ending = next(at for at, line in enumerate(drawn) if " for ever for " in line)
    assert drawn[ending + 1 :] == lines
    assert all(text.count(f"  {line}\n") == 1 for line in lines)


def test_a_decorator_that_is_a_gate_is_shown_at_its_function(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(
        HEAD + "from lightning.pytorch.utilities import rank_zero_only\n\n\n@rank_zero_only\ndef save(x):\n"
        "    dist.barrier()\n\n\ndef run(x):\n    save(x)\n"
    )
    text = meshlint("check", "--isolated", "--no-cache", "--select", "COL", tmp_path / "run.py").out
    assert "run.py:9:1  `save`, whose decorator lets only some ranks in\n  9 | def save(x):\n" in text
    assert "run.py:10:5  where `barrier` is called\n" in text
