"""The library models: every entry can be checked, and what a library does is judged where its source is not there."""

from __future__ import annotations

from textwrap import dedent

import pytest

from meshlint.mesh import dims as mesh
from meshlint.models.entry import Entry
from meshlint.models.registry import LIBRARIES, Models
from meshlint.protocol.program import Program, facts_of

HEAD = """
import torch.distributed as dist
from megatron.core import parallel_state as mpu
"""


def codes(body: str) -> list[str]:
    """Give the codes found in one file."""
    facts = facts_of([("main.py", HEAD + dedent(body))])
    return [fault.code for fault in Program(tuple(facts), facts).faults()]


def entries() -> list[Entry]:
    """Give every entry of every library."""
    return [entry for library in LIBRARIES for entry in library]


def test_every_entry_names_known_dims_and_a_source() -> None:
    for entry in entries():
        added = tuple(d for _, _, dims in entry.extra for d in dims)
        assert mesh.STANDARD.mask(*entry.dims, *added) or not entry.dims, entry
        assert any(mark in entry.source for mark in (".py", "https://", "names in", "transformers")), entry


def test_an_event_says_on_which_group_it_runs() -> None:
    for entry in entries():
        if entry.kind == "op":
            assert entry.op, entry
            assert entry.dims or entry.group != (-1, "") or entry.weak, entry


def test_no_two_entries_of_one_library_hold_one_name() -> None:
    for library in LIBRARIES:
        names = [(name, entry.attribute) for entry in library for name in entry.names]
        assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)


def test_two_libraries_agree_where_they_share_a_name() -> None:
    held: dict[str, Entry] = {}
    for entry in entries():
        for name in entry.names:
            other = held.setdefault(name, entry)
            assert (other.kind, other.dims, other.op) == (entry.kind, entry.dims, entry.op), name


def test_the_longest_ending_answers() -> None:
    models = Models()
    found = models.find("olmo_core.distributed.utils.barrier")
    assert found is not None
    assert found.op == "barrier"
    assert models.find("somewhere.else.barrier") is None


FOUND = {
    "verl": """
        from verl.utils.torch_functional import allgather_dict_into_dict

        def f(metrics):
            if dist.get_rank() == 0:
                return allgather_dict_into_dict(metrics)
        """,
    "verl, Ulysses": """
        from verl.utils import ulysses

        def f(x):
            if ulysses.get_ulysses_sequence_parallel_rank() == 0:
                return ulysses.gather_outputs_and_unpad(x, 1)
        """,
    "NeMo-RL": """
        from nemo_rl.models.megatron.pipeline_parallel import broadcast_obj_from_pp_rank

        def f(loss):
            if mpu.is_pipeline_last_stage():
                return broadcast_obj_from_pp_rank(loss)
        """,
    "slime": """
        from slime.utils.distributed_utils import get_gloo_group

        def f():
            if mpu.get_tensor_model_parallel_rank() == 0:
                dist.barrier(group=get_gloo_group())
        """,
    "ms-swift": """
        from swift.utils import is_master
        from swift.megatron.trainers.utils import gather_object

        def f(rows):
            if is_master():
                return gather_object(rows)
        """,
    "DeepSpeed, ZeRO": """
        import deepspeed

        def f(model):
            if dist.get_rank() == 0:
                with deepspeed.zero.GatheredParameters(model.parameters()):
                    return model.state_dict()
        """,
    "DeepSpeed, engine": """
        def f(model_engine, path):
            if dist.get_rank() == 0:
                model_engine.save_checkpoint(path)
        """,
    "FSDP": """
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

        def f(model):
            if dist.get_rank() == 0:
                with FSDP.summon_full_params(model):
                    return model.state_dict()
        """,
    "torchtitan": """
        from torchtitan.distributed import utils as dist_utils

        def f(model):
            if dist.get_rank() == 0:
                dist_utils.clip_grad_norm_(model.parameters(), 1.0)
        """,
    "trl": """
        from trl.models import unwrap_model_for_generation

        def f(model, accelerator):
            if accelerator.is_main_process:
                with unwrap_model_for_generation(model, accelerator) as unwrapped:
                    return unwrapped.generate()
        """,
    "OLMo-core": """
        from olmo_core.distributed.utils import all_reduce_value, get_rank

        def f(loss, device):
            if get_rank() == 0:
                return all_reduce_value(loss, device)
        """,
    "fairseq2": """
        def f(gangs, loss):
            if gangs.root.rank == 0:
                gangs.dp.all_reduce(loss, None)
        """,
    "Megatron-LM": """
        from megatron.training.utils import is_last_rank

        def f(timers):
            if is_last_rank():
                timers.log(["forward"])
        """,
    "NeMo": """
        from nemo.utils.distributed import gather_objects
        from nemo.utils.get_rank import is_global_rank_zero

        def f(rows):
            if is_global_rank_zero():
                return gather_objects(rows)
        """,
}


COMPOSITE = frozenset(("NeMo-RL", "DeepSpeed, ZeRO", "DeepSpeed, engine", "FSDP", "torchtitan", "trl"))
"""Calls that stand for many collectives, and so are COL007."""


@pytest.mark.parametrize("library", FOUND)
def test_a_library_call_that_some_ranks_skip_is_found(library: str) -> None:
    assert codes(FOUND[library]) == ["COL007" if library in COMPOSITE else "COL001"]


SILENT = {
    "verl, another dim": """
        from verl.utils.torch_functional import allgather_dict_into_dict

        def f(metrics):
            if mpu.get_tensor_model_parallel_rank() == 0:
                return allgather_dict_into_dict(metrics, group=mpu.get_data_parallel_group())
        """,
    "OLMo-core, an agreed value": """
        from olmo_core.distributed.utils import all_reduce_value, barrier, get_rank

        def f(loss, device):
            total = all_reduce_value(loss, device)
            if total > 0:
                barrier()
        """,
    "fairseq2, another dim": """
        def f(gangs, loss):
            if gangs.tp.rank == 0:
                gangs.dp.all_reduce(loss, None)
        """,
    "torchmetrics, update only": """
        from torchmetrics import MeanMetric

        def f(losses):
            metric = MeanMetric()
            if dist.get_rank() == 0:
                metric.update(losses)
            return metric.compute()
        """,
    "ms-swift, its manager": """
        from swift.utils import safe_ddp_context

        def f(load):
            with safe_ddp_context("x"):
                load()
            dist.barrier()
        """,
    "DeepSpeed, all ranks gather": """
        import deepspeed

        def f(model):
            with deepspeed.zero.GatheredParameters(model.parameters()):
                if dist.get_rank() == 0:
                    print(model)
        """,
}


@pytest.mark.parametrize("case", SILENT)
def test_a_library_call_that_all_ranks_make_is_silent(case: str) -> None:
    assert codes(SILENT[case]) == []
