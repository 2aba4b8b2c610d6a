"""Asks megatron-core itself whether it accepts a layout: its groups, its model config, its stages, its batches.

Runs under a Python that has torch (a CPU build will do) with a checkout of Megatron-LM, never in meshlint's own
process; no GPU is used, and groups are made by torch's fake process group:

    python tests/oracle/layout.py CHECKOUT < questions.jsonl > answers.jsonl

A question is {"id", "world", "groups", "config", "stages", "batch"}: arguments of `initialize_model_parallel`, of
`TransformerConfig`, whether each stage is asked for its layers, and [global, micro, data parallel size]. Its answer is
{"id", "accepted", "stage", "error", "layers"}; `layers` is the sum of all stages.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from typing import Any


def prepare(checkout: str) -> None:
    """Import what is asked, on a machine without a GPU."""
    import torch

    for name in ("_dynamo", "_inductor.config", "utils.flop_counter", "_functorch.aot_autograd", "nn.attention"):
        importlib.import_module(f"torch.{name}")
    from megatron_cli import Stubs

    sys.meta_path.insert(0, Stubs())
    sys.path.insert(0, checkout)
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 8


def groups(world: int, arguments: dict[str, Any]) -> None:
    """Build the groups of one rank of a world; raises what megatron-core raises."""
    import torch.distributed as dist
    from megatron.core import parallel_state
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    dist.new_group = lambda *args, **named: object()  # what is asked is who is in which group, not NCCL
    try:
        parallel_state.initialize_model_parallel(**arguments)
    finally:
        with contextlib.suppress(Exception):
            parallel_state.destroy_model_parallel()
        dist.destroy_process_group()


def model(arguments: dict[str, Any]) -> Any:
    """Make the model's config; raises what megatron-core raises."""
    from megatron.core.transformer.transformer_config import TransformerConfig

    return TransformerConfig(**{"pipeline_dtype": "bf16", **arguments})


def layers(config: Any) -> int:
    """Add up the layers that the stages build; raises what megatron-core raises."""
    from megatron.core import parallel_state
    from megatron.core.transformer import transformer_block

    total = 0
    chunks = config.virtual_pipeline_model_parallel_size
    parallel_state.set_pipeline_model_parallel_world_size(config.pipeline_model_parallel_size)
    parallel_state.set_virtual_pipeline_model_parallel_world_size(chunks)
    for rank in range(config.pipeline_model_parallel_size):
        for chunk in range(chunks or 1):
            total += _built(transformer_block, parallel_state, config, rank, chunk if chunks else None)
    return total


def _built(block: Any, state: Any, config: Any, rank: int, chunk: int | None) -> int:
    """Ask for the layers of one stage; how the stage is named differs between versions."""
    state.set_pipeline_model_parallel_rank(rank)
    with contextlib.suppress(AttributeError):
        state.set_virtual_pipeline_model_parallel_rank(chunk)
    names = block.get_num_layers_to_build.__code__.co_varnames
    count = block.get_num_layers_to_build.__code__.co_argcount
    given = {"vp_stage": chunk, "pp_rank": rank}
    wanted = {name: given[name] for name in names[:count] if name in given}
    return int(block.get_num_layers_to_build(config, **wanted))


def batch(whole: int, micro: int, replicas: int) -> None:
    """Set up the counter of micro-batches; raises what megatron-core raises."""
    from megatron.core.num_microbatches_calculator import ConstantNumMicroBatchesCalculator

    ConstantNumMicroBatchesCalculator(whole, micro, replicas, False, 1)


def ask(question: dict[str, Any]) -> dict[str, Any]:
    """Give the answer to one question."""
    stage, total = "groups", None
    try:
        if "groups" in question:
            groups(question["world"], question["groups"])
        stage = "config"
        config = model(question["config"]) if "config" in question else None
        stage = "stages"
        total = layers(config) if question.get("stages") else None
        stage = "batch"
        if "batch" in question:
            batch(*question["batch"])
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:300]
        return {"id": question["id"], "accepted": False, "stage": stage, "error": text, "layers": total}
    return {"id": question["id"], "accepted": True, "stage": "", "error": "", "layers": total}


def main() -> None:
    """Answer every question on standard input."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever megatron-core prints goes elsewhere
    prepare(sys.argv[1])
    for line in sys.stdin:
        out.write(json.dumps(ask(json.loads(line))) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
