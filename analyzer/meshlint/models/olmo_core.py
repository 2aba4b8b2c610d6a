"""OLMo-core: distributed utilities and meshes. Source: allenai/OLMo-core main of 2026-06 (fa6c5014c)."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_UTILS = "OLMo-core main of 2026-06, src/olmo_core/distributed/utils.py"
_PARALLEL = "OLMo-core main of 2026-06, src/olmo_core/distributed/parallel/__init__.py"

ENTRIES = (
    *under(
        ("olmo_core.distributed.utils",),
        (
            Entry(("barrier",), "op", _UTILS, dims=("world",), op="barrier", group=(0, "group")),
            Entry(("get_rank",), "rank", _UTILS, dims=("world",), group=(0, "group")),
            Entry(("get_local_rank", "get_fs_local_rank"), "rank", _UTILS, dims=("world",), weak=True),
            Entry(("get_world_size",), "size", _UTILS, dims=("world",), group=(0, "group")),
            Entry(("get_global_rank",), "pure", _UTILS),
            Entry(("is_distributed", "get_num_nodes", "get_local_world_size"), "config", _UTILS),
            Entry(("synchronize_value",), "op", _UTILS, dims=("world",), op="broadcast", root=(2, "src"),
                  group=(3, "group"), payload=(0, "value"), effect="returns"),
            Entry(("synchronize_flag",), "op", _UTILS, dims=("world",), op="broadcast", group=(2, "group"),
                  payload=(0, "flag"), effect="returns"),
            Entry(("all_reduce_value",), "op", _UTILS, dims=("world",), op="all_reduce", group=(3, "group"),
                  payload=(0, "value"), effect="returns"),
            Entry(("broadcast_object",), "op", _UTILS, dims=("world",), op="broadcast_object_list", root=(1, "src"),
                  group=(2, "group"), payload=(0, "obj"), effect="returns", object_form=True),
            Entry(("all_gather",), "op", _UTILS, dims=("world",), op="all_gather", group=(1, "group"),
                  payload=(0, "tensor"), effect="returns", composite=True),
            Entry(("all_gather_object",), "op", _UTILS, dims=("world",), op="all_gather_object", group=(1, "group"),
                  payload=(0, "obj"), effect="returns", object_form=True),
        ),
    ),
    *under(
        ("olmo_core.distributed.parallel",),
        (
            Entry(("get_dp_process_group",), "group", _PARALLEL, dims=("dp",)),
            Entry(("build_world_mesh", "get_world_mesh"), "mesh", _PARALLEL),
            Entry(("get_dp_mesh", "get_dp_model_mesh"), "mesh-dim", _PARALLEL, dims=("dp",)),
            Entry(("get_dp_shard_mesh",), "mesh-dim", _PARALLEL, dims=("dp.0",)),
            Entry(("get_dp_replicate_mesh",), "mesh-dim", _PARALLEL, dims=("dp.1",)),
            Entry(("get_ep_mesh",), "mesh-dim", _PARALLEL, dims=("ep",)),
            Entry(("get_tp_mesh",), "mesh-dim", _PARALLEL, dims=("tp",)),
            Entry(("get_cp_mesh",), "mesh-dim", _PARALLEL, dims=("cp",)),
            Entry(("get_pp_mesh",), "mesh-dim", _PARALLEL, dims=("pp",)),
        ),
    ),
)  # fmt: skip
