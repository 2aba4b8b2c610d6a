"""Hugging Face Accelerate, Trainer and trl. Source: accelerate v1.10 src/accelerate/accelerator.py and state.py."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_SRC = "accelerate v1.10, src/accelerate/accelerator.py"
_STATE = "accelerate v1.10, src/accelerate/state.py, PartialState._goes_first"
_ARGS = "transformers v4.57, src/transformers/training_args.py"
_OPS = "accelerate v1.10, src/accelerate/utils/operations.py"
_HOLDERS = (
    "accelerator",
    "Accelerator",
    "Accelerator()",
    "state",
    "PartialState",
    "PartialState()",
    "AcceleratorState",
    "AcceleratorState()",
    "distributed_state",
)

ENTRIES = under(
    _HOLDERS,
    (
        Entry(("is_main_process", "is_last_process"), "first", _SRC, dims=("world",), attribute=True),
        Entry(("is_local_main_process",), "first", _SRC, dims=("world",), attribute=True, weak=True),
        Entry(("process_index",), "rank", _SRC, dims=("world",), attribute=True),
        Entry(("local_process_index",), "rank", _SRC, dims=("world",), attribute=True, weak=True),
        Entry(("num_processes",), "size", _SRC, dims=("world",), attribute=True),
        Entry(("device", "distributed_type", "mixed_precision", "sync_gradients", "use_distributed"), "config", _SRC,
              attribute=True),
        Entry(("wait_for_everyone",), "op", _SRC, dims=("world",), op="barrier"),
        Entry(("gather", "gather_for_metrics"), "op", _SRC, dims=("world",), op="all_gather", payload=(0, "tensor"),
              effect="returns"),
        Entry(("reduce",), "op", _SRC, dims=("world",), op="all_reduce", payload=(0, "tensor"), effect="returns"),
        Entry(("pad_across_processes",), "op", _SRC, dims=("world",), op="all_gather", effect="returns"),
        Entry(("save_state", "load_state"), "op", _SRC, dims=("world",), op="checkpoint", composite=True),
        Entry(("get_state_dict",), "op", _SRC, dims=("world",), op="state_dict", composite=True, weak=True),
        Entry(("main_process_first",), "barrier-manager", _STATE, dims=("world",)),
        Entry(("local_main_process_first",), "barrier-manager", _STATE, dims=("world",), weak=True),
        Entry(("split_between_processes", "no_sync", "accumulate", "autocast", "profile"), "manager", _SRC),
        Entry(("on_main_process", "on_local_main_process", "on_last_process"), "gate-decorator", _SRC, dims=("world",)),
        Entry(("print", "log", "unwrap_model", "save", "prepare", "prepare_model", "is_fsdp2"), "pure", _SRC),
    ),
) + under(
    ("accelerate.utils", "accelerate.utils.operations"),
    (
        Entry(("gather", "gather_object"), "op", _OPS, dims=("world",), op="all_gather", effect="returns"),
        Entry(("broadcast",), "op", _OPS, dims=("world",), op="broadcast", payload=(0, "tensor"), effect="returns"),
        Entry(("broadcast_object_list",), "op", _OPS, dims=("world",), op="broadcast_object_list",
              payload=(0, "object_list"), effect="list", object_form=True),
        Entry(("reduce",), "op", _OPS, dims=("world",), op="all_reduce", effect="returns"),
        Entry(("wait_for_everyone",), "op", _OPS, dims=("world",), op="barrier"),
    ),
) + (
    Entry(("is_world_process_zero",), "first", "transformers v4.57, src/transformers/trainer.py", dims=("world",)),
    Entry(("is_local_process_zero",), "first", "transformers v4.57, src/transformers/trainer.py", dims=("world",),
          weak=True),
    Entry(("state.is_world_process_zero",), "first", "transformers v4.57, src/transformers/trainer_callback.py",
          dims=("world",), attribute=True),
    Entry(("state.is_local_process_zero",), "first", "transformers v4.57, src/transformers/trainer_callback.py",
          dims=("world",), attribute=True, weak=True),
) + under(
    ("args", "training_args"),
    (
        Entry(("main_process_first",), "barrier-manager", _ARGS, dims=("world",), weak=True),
        Entry(("should_save", "should_log"), "first", _ARGS, dims=("world",), attribute=True, weak=True),
    ),
)  # fmt: skip
