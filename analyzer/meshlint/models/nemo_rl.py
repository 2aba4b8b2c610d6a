"""NeMo-RL: broadcasts between pipeline stages, gathers of jagged data, context-parallel gathers.

Source: NVIDIA-NeMo/RL main of 2026-08 (7ea279abf).
"""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_STAGES = "NeMo-RL main of 2026-08, nemo_rl/models/megatron/pipeline_parallel.py"
_COMMON = "NeMo-RL main of 2026-08, nemo_rl/models/megatron/common.py"
_MODEL = "NeMo-RL main of 2026-08, nemo_rl/distributed/model_utils.py"
_GATHER = "NeMo-RL main of 2026-08, nemo_rl/distributed/collectives.py"
_BATCH = "NeMo-RL main of 2026-08, nemo_rl/distributed/batched_data_dict.py"

ENTRIES = (
    *under(
        ("nemo_rl.models.megatron.pipeline_parallel",),
        (
            Entry(("broadcast_obj_from_pp_rank",), "op", _STAGES, dims=("pp",), op="broadcast_object_list",
                  payload=(0, "obj"), effect="returns", composite=True, object_form=True),
            Entry(("broadcast_loss_metrics_from_last_stage",), "op", _STAGES, dims=("pp",), op="broadcast_object_list",
                  payload=(0, "loss_metrics"), effect="returns", object_form=True),
            Entry(("broadcast_tensors_from_last_stage",), "op", _STAGES, dims=("pp",), op="broadcast",
                  payload=(0, "tensors"), effect="returns", composite=True),
        ),
    ),
    Entry(("nemo_rl.models.megatron.common.broadcast_tensor",), "op", _COMMON, dims=("world",), op="broadcast",
          root=(1, "src_rank"), group=(2, "group"), payload=(0, "tensor"), effect="returns", composite=True),
    *under(
        ("nemo_rl.distributed.model_utils",),
        (
            Entry(("allgather_cp_sharded_tensor",), "op", _MODEL, dims=("cp",), op="all_gather", group=(1, "cp_group"),
                  payload=(0, "tensor"), effect="returns"),
            Entry(("group_all_reduce_sum", "group_all_reduce_sum_with_grad"), "op", _MODEL, dims=("world",),
                  op="all_reduce", group=(1, "group"), payload=(0, "x"), effect="returns"),
        ),
    ),
    *under(
        ("nemo_rl.distributed.collectives",),
        (
            Entry(("rebalance_nd_tensor",), "op", _GATHER, dims=("world",), op="all_gather", group=(1, "group"),
                  payload=(0, "tensor"), effect="returns", composite=True),
            Entry(("gather_jagged_object_lists",), "op", _GATHER, dims=("world",), op="all_gather_object",
                  group=(1, "group"), payload=(0, "local_objects"), effect="returns", object_form=True),
        ),
    ),
    Entry(("BatchedDataDict.all_gather", "SlicedDataDict.all_gather"), "op", _BATCH, dims=("world",), op="all_gather",
          group=(0, "group"), effect="returns", composite=True),
)  # fmt: skip
