"""Megatron-LM's training utilities: rank tests, barriers in logs, timers. Source: Megatron-LM core_v0.16.1."""

from __future__ import annotations

from meshlint.models.entry import Entry

_UTILS = "Megatron-LM core_v0.16.1, megatron/training/utils.py"
_TIMERS = "Megatron-LM core_v0.16.1, megatron/core/timers.py: the times of all ranks are gathered"
_SIGNALS = "Megatron-LM core_v0.16.1, megatron/training/dist_signal_handler.py"

ENTRIES = (
    Entry(("utils.is_rank0", "is_rank0"), "first", _UTILS, dims=("world",)),
    Entry(("utils.is_last_rank", "is_last_rank"), "last", _UTILS, dims=("world",)),
    Entry(("megatron.training.utils.append_to_progress_log", "megatron.training.utils.barrier_and_log"), "op", _UTILS,
          dims=("world",), op="barrier"),
    Entry(("timers.log",), "op", _TIMERS, dims=("world",), op="all_gather"),
    Entry(("megatron.training.dist_signal_handler.all_gather_item",), "op", _SIGNALS, dims=("world",),
          op="all_gather", group=(2, "group"), payload=(0, "item"), effect="returns"),
    Entry(("DistributedSignalHandler.signals_received", "signal_handler.signals_received"), "op", _SIGNALS,
          dims=("world",), op="all_gather", effect="returns"),
)  # fmt: skip
