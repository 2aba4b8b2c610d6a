"""Asks megatron-core itself whether it accepts a layout: its groups, its model config, its stages, its batches.

Runs under a Python that has torch (a CPU build will do) with a checkout of Megatron-LM, never in meshlint's own
process; no GPU is used, and groups are made by torch's fake process group:

    python tests/oracle/layout.py CHECKOUT < questions.jsonl > answers.jsonl
    python tests/oracle/layout.py --each FOLDER < questions.jsonl > answers.jsonl

With `--each` a question names the subfolder of FOLDER that is asked, as "tree"; torch is imported once for all.

A question is {"id", "world", "groups", "config", "stages", "batch", "torch"}: arguments of `initialize_model_parallel`,
of `TransformerConfig`, whether each stage is asked for its layers, [global, micro, data parallel size], and the version
of torch to pretend. Its answer is {"id", "accepted", "stage", "error", "layers"}; `layers` is the sum of all stages.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

CHILDREN = 2
"""How many versions are asked at a time. An answer is one write of less than a pipe's buffer: lines stay whole."""


def prepare() -> None:
    """Import torch and make it look like a machine with GPUs, before the first word of megatron-core is imported."""
    import typing

    import torch

    for name in ("_dynamo", "_inductor.config", "utils.flop_counter", "_functorch.aot_autograd", "nn.attention"):
        importlib.import_module(f"torch.{name}")
    from megatron_cli import Stubs

    if not hasattr(typing, "override"):
        typing.override = lambda f: f  # type: ignore[attr-defined]
    sys.meta_path.insert(0, Stubs())
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 8


class Group:
    """A group that does nothing."""

    def size(self) -> int:
        """Say one: nobody asks for more than whether there are others."""
        return 1


def groups(world: int, arguments: dict[str, Any]) -> None:
    """Build the groups of one rank of a world; raises what megatron-core raises."""
    import torch.distributed as dist
    from megatron.core import parallel_state
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    dist.new_group = lambda *args, **named: Group()  # what is asked is who is in which group, not NCCL
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


def pretend(torch_version: str) -> None:
    """Let megatron-core see a version of torch."""
    from megatron.core import utils
    from packaging.version import Version

    utils._torch_version = Version(torch_version)
    utils.get_torch_version = lambda: Version(torch_version)


def ask(question: dict[str, Any]) -> dict[str, Any]:
    """Give the answer to one question."""
    stage, total = "groups", None
    try:
        if "torch" in question:
            pretend(question["torch"])
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


def answer(tree: str, questions: Iterable[dict[str, Any]], out: TextIO) -> None:
    """Answer questions about the megatron-core in one folder."""
    sys.path.insert(0, tree)
    for question in questions:
        out.write(json.dumps(ask(question)) + "\n")
        out.flush()


def each(folder: str, out: TextIO) -> None:
    """Answer questions about several versions, each in a child that has torch already, two at a time."""
    questions = [json.loads(line) for line in sys.stdin]
    running = 0
    for tree in dict.fromkeys(question["tree"] for question in questions):
        if running == CHILDREN:
            os.wait()
            running -= 1
        if os.fork() == 0:
            answer(f"{folder}/{tree}", (q for q in questions if q["tree"] == tree), out)
            os._exit(0)
        running += 1
    while running:
        os.wait()
        running -= 1


def main() -> None:
    """Answer every question on standard input."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever megatron-core prints goes elsewhere
    prepare()
    if sys.argv[1] == "--each":
        each(sys.argv[2], out)
    else:
        answer(sys.argv[1], map(json.loads, sys.stdin), out)


if __name__ == "__main__":
    main()
