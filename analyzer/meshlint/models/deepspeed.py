"""DeepSpeed: its own collectives, its groups, ZeRO's gathers and the engine. Source: DeepSpeed 0.19.6 (edaa72212).

What `deepspeed.comm` shares with torch.distributed is told there.
"""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_COMM = "DeepSpeed 0.19.6, deepspeed/comm/comm.py"
_GROUPS = "DeepSpeed 0.19.6, deepspeed/utils/groups.py"
_ZERO = "DeepSpeed 0.19.6, deepspeed/runtime/zero/partition_parameters.py"
_ENGINE = "DeepSpeed 0.19.6, deepspeed/runtime/engine.py"

_COLLECTIVES = under(
    ("deepspeed.comm", "deepspeed.comm.comm", "dist"),
    (
        Entry(("inference_all_reduce",), "op", _COMM, dims=("world",), op="all_reduce", group=(2, "group"),
              payload=(0, "tensor"), effect="in-place", asynchronous="async_op"),
        Entry(("reduce_scatter_fn",), "op", _COMM, dims=("world",), op="reduce_scatter_tensor", group=(3, "group"),
              payload=(0, "output_tensor"), asynchronous="async_op"),
        Entry(("allgather_fn",), "op", _COMM, dims=("world",), op="all_gather_into_tensor", group=(2, "group"),
              payload=(0, "output_tensor"), effect="in-place", asynchronous="async_op"),
        Entry(("all_gather_coalesced",), "op", _COMM, dims=("world",), op="all_gather_coalesced", group=(2, "group"),
              payload=(0, "output_tensors"), effect="list", asynchronous="async_op"),
        Entry(("log_summary",), "op", _COMM, dims=("world",), op="barrier", composite=True),
        Entry(("init_distributed",), "op", _COMM, dims=("world",), op="init_process_group", composite=True),
    ),
)  # fmt: skip

_DIMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("data_parallel", ("dp",)), ("model_parallel", ("tp",)), ("tensor_model_parallel", ("tp",)),
    ("sequence_parallel", ("cp",)), ("sequence_data_parallel", ("dp", "cp")),
    ("expert_parallel", ("ep",)), ("expert_data_parallel", ("edp",)),
)  # fmt: skip

_GETTERS = tuple(
    Entry(
        tuple(f"{holder}.{form.format(name)}" for holder in ("groups", "deepspeed.utils.groups")),
        kind,  # type: ignore[arg-type]
        _GROUPS,
        dims=dims,
    )
    for name, dims in _DIMS
    for form, kind in (
        ("_get_{}_group", "group"), ("get_{}_group", "group"),
        ("_get_{}_rank", "rank"), ("get_{}_rank", "rank"),
        ("_get_{}_world_size", "size"), ("get_{}_world_size", "size"),
    )
)  # fmt: skip

_STATE = (
    Entry(("deepspeed.zero.GatheredParameters", "zero.GatheredParameters"), "op", _ZERO, dims=("world",),
          op="GatheredParameters", composite=True),
    Entry(("deepspeed.initialize", "deepspeed.init_distributed"), "op", "DeepSpeed 0.19.6, deepspeed/__init__.py",
          dims=("world",), op="deepspeed.initialize", composite=True),
)  # fmt: skip

_ENGINES = under(
    ("model_engine", "deepspeed_engine", "ds_engine"),
    (
        Entry(("save_checkpoint", "load_checkpoint", "save_16bit_model"), "op", _ENGINE, dims=("world",),
              op="checkpoint", composite=True),
        Entry(("global_rank",), "rank", _ENGINE, dims=("world",), attribute=True),
        Entry(("local_rank",), "rank", _ENGINE, dims=("world",), attribute=True, weak=True),
        Entry(("world_size",), "size", _ENGINE, dims=("world",), attribute=True),
    ),
)  # fmt: skip

_MADE = under(
    ("deepspeed.initialize()[0]", "initialize()"),
    (
        Entry(("save_checkpoint", "load_checkpoint", "save_16bit_model"), "op", _ENGINE, dims=("world",),
              op="checkpoint", composite=True),
    ),
)  # fmt: skip
"""The engine that `deepspeed.initialize` gives, first of four."""

ENTRIES = (*_COLLECTIVES, *_GETTERS, *_STATE, *_ENGINES, *_MADE)
