"""slime: its gloo group, log gathers, context-parallel gathers. Source: THUDM/slime main of 2026-08 (624b824a8)."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_UTILS = "slime main of 2026-08, slime/utils/distributed_utils.py"
_METRICS = "slime main of 2026-08, slime/observability/train_metric_utils.py"
_CP = "slime main of 2026-08, slime/backends/megatron_utils/cp_utils.py"
_INIT = "slime main of 2026-08, slime/backends/megatron_utils/initialize.py: dp-cp 0, tp 0, last pipeline stage"
_WEIGHTS = "slime main of 2026-08, slime/backends/megatron_utils/update_weight/common.py: tp, or expert tp for experts"

ENTRIES = (
    *under(
        ("slime.utils.distributed_utils",),
        (
            Entry(("get_gloo_group",), "group", _UTILS, dims=("world",), identity="gloo"),
            Entry(("init_gloo_group",), "op", _UTILS, dims=("world",), op="new_group", creates=True),
            Entry(("distributed_masked_whiten",), "op", _UTILS, dims=("world",), op="all_reduce",
                  group=(2, "process_group")),
        ),
    ),
    *under(
        ("slime.observability.train_metric_utils",),
        (
            Entry(("gather_and_reduce_log_dict",), "op", _METRICS, op="gather_object", group=(-1, "dp_group"),
                  root=(-1, "dp_src_rank"), payload=(0, "log_dict"), object_form=True),
            Entry(("gather_log_data",), "op", _METRICS, dims=("dp", "cp"), op="gather_object", object_form=True),
        ),
    ),
    Entry(("slime.backends.megatron_utils.cp_utils.all_gather_with_cp",), "op", _CP, dims=("cp",), op="all_reduce",
          payload=(0, "tensor"), effect="returns"),
    Entry(("slime.backends.megatron_utils.initialize.is_megatron_main_rank",), "first", _INIT, dims=("world",),
          weak=True),
    *under(
        ("slime.backends.megatron_utils.update_weight.common",),
        (
            Entry(("all_gather_param", "all_gather_params_async"), "op", _WEIGHTS, dims=("tp",), op="all_gather",
                  effect="returns", composite=True, weak=True),
        ),
    ),
)  # fmt: skip
