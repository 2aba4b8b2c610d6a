"""Composer: its wrappers of torch.distributed. Source: composer v0.31, composer/utils/dist.py."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

ENTRIES = under(
    ("composer.utils.dist", "utils.dist"),
    (
        Entry(("get_global_rank",), "rank", "composer v0.31, composer/utils/dist.py", dims=("world",)),
        Entry(("get_local_rank",), "rank", "composer v0.31, composer/utils/dist.py", dims=("world",), weak=True),
        Entry(("get_world_size",), "size", "composer v0.31, composer/utils/dist.py", dims=("world",)),
        Entry(("barrier",), "op", "composer v0.31, composer/utils/dist.py", dims=("world",), op="barrier"),
        Entry(("all_reduce",), "op", "composer v0.31, composer/utils/dist.py", dims=("world",), op="all_reduce",
              payload=(0, "tensor"), effect="in-place"),
        Entry(("broadcast",), "op", "composer v0.31, composer/utils/dist.py", dims=("world",), op="broadcast",
              payload=(0, "tensor"), effect="in-place"),
        Entry(("broadcast_object_list",), "op", "composer v0.31, composer/utils/dist.py", dims=("world",),
              op="broadcast_object_list", payload=(0, "object_list"), effect="list"),
        Entry(("all_gather", "all_gather_object"), "op", "composer v0.31, composer/utils/dist.py", dims=("world",),
              op="all_gather", effect="returns"),
    ),
)  # fmt: skip
