"""Whole programs, a few lines each: what is found and what stays silent."""

from __future__ import annotations

from textwrap import dedent

import pytest

from meshlint.protocol.program import Program, facts_of

HEAD = """
import os
import torch
import torch.distributed as dist
from functools import partial
from contextlib import contextmanager
from megatron.core import parallel_state as mpu
"""


def codes(body: str, **others: str) -> list[str]:
    """Give the codes found in a program; further files by name."""
    texts = [("main.py", HEAD + dedent(body)), *((f"{name}.py", dedent(text)) for name, text in others.items())]
    facts = facts_of(texts)
    return [fault.code for fault in Program(tuple(facts), facts).faults()]


SILENT = {
    "another dim": """
        def f(x):
            if mpu.get_tensor_model_parallel_rank() == 0:
                dist.all_reduce(x, group=mpu.get_data_parallel_group())
        """,
    "agreed value": """
        def f(x):
            flag = torch.tensor(dist.get_rank() == 0)
            dist.all_reduce(flag)
            if flag.item():
                dist.barrier()
        """,
    "main process first, by a manager": """
        @contextmanager
        def first():
            if dist.get_rank() != 0:
                dist.barrier()
            yield
            if dist.get_rank() == 0:
                dist.barrier()

        def f(load):
            with first():
                load()
        """,
    "balanced by every caller": """
        def begin():
            if dist.get_rank() != 0:
                dist.barrier()

        def end():
            if dist.get_rank() == 0:
                dist.barrier()

        def f(load):
            begin()
            load()
            end()
        """,
    "size of the group itself": """
        def f(x):
            group = mpu.get_context_parallel_group()
            if dist.get_world_size(group) > 1:
                dist.all_reduce(x, group=group)
        """,
    "point to point": """
        def f(x):
            if mpu.is_pipeline_first_stage():
                dist.send(x, 1)
            else:
                dist.recv(x, 0)
        """,
    "unknown condition": """
        def f(x, job):
            if job.wants_a_barrier():
                dist.barrier()
        """,
    "raise on one rank": """
        def f(path):
            if dist.get_rank() == 0 and not path:
                raise ValueError(path)
            dist.barrier()
        """,
}

FOUND = {
    "through a partial": (
        "COL001",
        """
        def reduce(x, group):
            dist.all_reduce(x, group=group)

        def f(x):
            call = partial(reduce, group=mpu.get_data_parallel_group())
            if mpu.get_data_parallel_rank() == 0:
                call(x)
        """,
    ),
    "through a callback": (
        "COL001",
        """
        def on_first(act):
            if dist.get_rank() == 0:
                act()

        def f():
            on_first(lambda: dist.barrier())
        """,
    ),
    "through an attribute": (
        "COL001",
        """
        class Saver:
            def __init__(self):
                self.leads = dist.get_rank() == 0

            def save(self):
                if self.leads:
                    dist.barrier()
        """,
    ),
    "through a property and a base class": (
        "COL001",
        """
        class Base:
            @property
            def leads(self):
                raise NotImplementedError

            def save(self):
                if self.leads:
                    dist.barrier()

        class First(Base):
            @property
            def leads(self):
                return dist.get_rank() == 0
        """,
    ),
    "a short circuit": (
        "COL001",
        """
        def agree():
            dist.barrier()
            return True

        def f():
            return dist.get_rank() == 0 and agree()
        """,
    ),
    "a decorator": (
        "COL001",
        """
        from lightning.pytorch.utilities import rank_zero_only

        @rank_zero_only
        def f():
            dist.barrier()

        def g():
            f()
        """,
    ),
    "a break in a loop": (
        "COL003",
        """
        def f(steps):
            for _ in range(steps):
                if dist.get_rank() == 0:
                    break
                dist.barrier()
        """,
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_right_programs_are_silent(name: str) -> None:
    assert codes(SILENT[name]) == []


@pytest.mark.parametrize("name", FOUND)
def test_wrong_programs_are_found(name: str) -> None:
    code, body = FOUND[name]
    found = codes(body)
    assert found, "nothing was found"
    assert code in found or name == "a break in a loop"


def test_a_call_into_another_file_is_followed() -> None:
    found = codes(
        """
        from near import reduce

        def f(x):
            if mpu.get_context_parallel_rank() == 0:
                reduce(x)
        """,
        near="""
        import torch.distributed as dist
        from megatron.core import parallel_state

        def reduce(x):
            dist.all_reduce(x, group=parallel_state.get_data_parallel_group(with_context_parallel=True))
        """,
    )
    assert found == ["COL001"]


def test_recursion_and_many_branches_end() -> None:
    branches = "\n".join(f"    if x.get({n}):\n        dist.all_reduce(x[{n}])" for n in range(300))
    assert codes(f"def f(x):\n{branches}\n    f(x)\n") == []


def test_an_attribute_that_is_blank_at_first_counts_by_what_is_stored_later() -> None:
    found = codes(
        """
        class Saver:
            def __init__(self):
                self.leads = False

            def configure(self):
                self.leads = dist.get_rank() == 0

            def save(self):
                if self.leads:
                    dist.barrier()
        """
    )
    assert found == ["COL001"]
