"""ms-swift: first-rank tests, gathers, its sequence-parallel mesh. Source: modelscope/ms-swift 4.6 (3602360a5)."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_ENV = "ms-swift 4.6, swift/utils/env.py"
_TORCH = "ms-swift 4.6, swift/utils/torch_utils.py"
_TRAINERS = "ms-swift 4.6, swift/trainers/utils.py"
_MEGATRON = "ms-swift 4.6, swift/megatron/trainers/utils.py"
_LOGITS = "ms-swift 4.6, swift/megatron/utils/convert_utils.py"
_SEQUENCE = "ms-swift 4.6, swift/sequence_parallel/sequence_parallel.py: the mesh is data x ring x sequence"

_DIMS = (("dp", ("dp",)), ("sp", ("cp.0",)), ("rp", ("cp.1",)))

ENTRIES = (
    *under(
        ("swift.utils", "swift.utils.env", "swift.llm.utils"),
        (
            Entry(("is_master",), "first", _ENV, dims=("world",)),
            Entry(("is_local_master",), "first", _ENV, dims=("world",), weak=True),
            Entry(("is_last_rank",), "last", _ENV, dims=("world",)),
            Entry(("is_dist", "is_mp", "is_deepspeed_enabled", "get_node_setting"), "config", _ENV),
        ),
    ),
    Entry(("safe_ddp_context",), "manager", _TORCH),
    Entry(("swift.trainers.utils.gather_for_unpadded_tensors",), "op", _TRAINERS, dims=("world",),
          op="all_gather_object", payload=(0, "input_data"), effect="returns", object_form=True),
    Entry(("swift.megatron.trainers.utils.gather_object",), "op", _MEGATRON, dims=("world",), op="all_gather_object",
          group=(1, "group"), payload=(0, "object"), effect="returns", object_form=True),
    Entry(("swift.megatron.utils.convert_utils.broadcast_mg_logits",), "op", _LOGITS, dims=("world",), op="broadcast",
          payload=(0, "mg_logits"), effect="returns", composite=True),
    *(
        Entry((f"sequence_parallel.{name}_group",), "group", _SEQUENCE, dims=dims, attribute=True)
        for name, dims in _DIMS
    ),
    *(
        Entry((f"sequence_parallel.{name}_rank",), "rank", _SEQUENCE, dims=dims, attribute=True)
        for name, dims in _DIMS
    ),
    Entry(("sequence_parallel._gather_object_dp",), "op", _SEQUENCE, dims=("dp",), op="all_gather_object",
          payload=(0, "input_data"), effect="returns", object_form=True),
)  # fmt: skip
