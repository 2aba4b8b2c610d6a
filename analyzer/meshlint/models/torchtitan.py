"""torchtitan: the meshes of ParallelDims and its reductions. Source: torchtitan main of 2026-08 (b5bcd76c6)."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_UTILS = "torchtitan main of 2026-08, torchtitan/distributed/utils.py"
_DIMS = "torchtitan main of 2026-08, torchtitan/distributed/parallel_dims.py"

ENTRIES = (
    *under(
        ("torchtitan.distributed.utils", "dist_utils"),
        (
            Entry(("dist_max", "dist_sum", "dist_mean", "dist_sum_tensor"), "op", _UTILS, dims=("dp", "cp"),
                  op="all_reduce", group=(1, "mesh"), payload=(0, "x"), effect="returns"),
            Entry(("clip_grad_norm_",), "op", _UTILS, dims=("world",), op="clip_grad_norm", effect="returns",
                  composite=True),
            Entry(("init_distributed",), "op", _UTILS, dims=("world",), op="init_process_group", composite=True),
            Entry(("set_pg_timeouts",), "op", _UTILS, dims=("world",), op="barrier"),
            Entry(("set_determinism",), "op", _UTILS, dims=("world",), op="broadcast", composite=True),
        ),
    ),
    *under(
        ("parallel_dims",),
        (
            Entry(("world_mesh",), "mesh", _DIMS, attribute=True),
            Entry(("build_mesh",), "mesh", _DIMS),
            Entry(("get_mesh", "get_optional_mesh"), "mesh-dim", _DIMS),
            Entry(("dp_enabled", "dp_replicate_enabled", "dp_shard_enabled", "cp_enabled", "dp_cp_enabled",
                   "fsdp_enabled", "tp_enabled", "pp_enabled", "ep_enabled", "non_data_parallel_size",
                   "seq_len_divisor"), "config", _DIMS, attribute=True),
        ),
    ),
)  # fmt: skip
