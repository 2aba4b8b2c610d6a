"""Megatron-Bridge: safe rank getters and reductions of training statistics. Source: Megatron-Bridge v0.4.0."""

from __future__ import annotations

from meshlint.models.entry import Entry

_COMMON = "Megatron-Bridge v0.4.0, src/megatron/bridge/utils/common_utils.py"
_TRAIN = "Megatron-Bridge v0.4.0, src/megatron/bridge/training/utils/train_utils.py"

ENTRIES = (
    Entry(("common_utils.get_rank_safe", "get_rank_safe"), "rank", _COMMON, dims=("world",)),
    Entry(("common_utils.get_world_size_safe", "get_world_size_safe"), "size", _COMMON, dims=("world",)),
    Entry(("common_utils.get_local_rank_preinit", "get_local_rank_preinit"), "rank", _COMMON, dims=("world",),
          weak=True),
    Entry(("megatron.bridge.utils.common_utils.get_last_rank",), "source", _COMMON, dims=("world",), place="last"),
    Entry(("reduce_max_memory_across_pp_group",), "op", _TRAIN, dims=("pp",), op="all_reduce", effect="returns"),
)  # fmt: skip
