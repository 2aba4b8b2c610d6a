"""verl: its tensor helpers, Ulysses sequence parallelism and engines. Source: verl main of 2026-08 (1dda039b9)."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_FUNCTIONAL = "verl main of 2026-08, verl/utils/torch_functional.py"
_ULYSSES = "verl main of 2026-08, verl/utils/ulysses.py"
_TIMING = "verl main of 2026-08, verl/utils/profiler/performance.py"
_ENGINE = "verl main of 2026-08, verl/workers/engine/base.py; Megatron and FSDP engines agree on the dims"
_AUTOMODEL = "verl main of 2026-08, verl/workers/engine/automodel/utils.py"
_MEGATRON = "verl main of 2026-08, verl/utils/megatron_utils.py"

_TENSORS = (
    *under(
    ("verl.utils.torch_functional",),
    (
        Entry(("allgather_dict_into_dict",), "op", _FUNCTIONAL, dims=("world",), op="all_gather_object",
              group=(1, "group"), payload=(0, "data"), effect="returns", object_form=True),
        Entry(("allgather_dict_tensors",), "op", _FUNCTIONAL, dims=("world",), op="all_gather", group=(2, "group"),
              payload=(0, "tensors"), effect="returns", composite=True),
        Entry(("broadcast_dict_tensor",), "op", _FUNCTIONAL, dims=("world",), op="broadcast", group=(2, "group"),
              root=(1, "src"), payload=(0, "tensors"), effect="in-place", composite=True),
    ),
    ),
    Entry(("verl.protocol.all_gather_data_proto",), "op", "verl main of 2026-08, verl/protocol.py", dims=("world",),
          op="all_gather", group=(1, "process_group"), payload=(0, "data"), effect="in-place", composite=True),
    Entry(("verl.utils.fsdp_utils.get_fsdp_full_state_dict",), "op",
          "verl main of 2026-08, verl/utils/fsdp_utils.py", dims=("world",), op="state_dict", composite=True),
)  # fmt: skip

_SEQUENCE = under(
    ("verl.utils.ulysses",),
    (
        Entry(("get_ulysses_sequence_parallel_group",), "group", _ULYSSES, dims=("cp",)),
        Entry(("get_ulysses_sequence_parallel_rank",), "rank", _ULYSSES, dims=("cp",), group=(0, "group")),
        Entry(("get_ulysses_sequence_parallel_world_size",), "size", _ULYSSES, dims=("cp",), group=(0, "group")),
        Entry(("gather_seq_scatter_heads",), "op", _ULYSSES, dims=("cp",), op="all_to_all", group=(4, "group")),
        Entry(("gather_heads_scatter_seq",), "op", _ULYSSES, dims=("cp",), op="all_to_all", group=(3, "group")),
        Entry(("all_gather_tensor",), "op", _ULYSSES, dims=("cp",), op="all_gather", group=(1, "group"),
              payload=(0, "local_tensor"), effect="returns"),
        Entry(("gather_outputs_and_unpad",), "op", _ULYSSES, dims=("cp",), op="all_gather", group=(5, "group"),
              payload=(0, "x"), effect="returns"),
        Entry(("slice_input_tensor",), "pure", _ULYSSES),
    ),
)  # fmt: skip

_STAGES = under(
    ("verl.utils.megatron_utils",),
    (
        Entry(("broadcast_from_megatron_pp", "broadcast_str_from_megatron_pp"), "op", _MEGATRON, dims=("pp",),
              op="broadcast", effect="returns", composite=True),
    ),
)  # fmt: skip

_TIMES = under(
    ("verl.utils.profiler.performance", "verl.utils.profiler"),
    (
        Entry(("reduce_timing",), "op", _TIMING, dims=("world",), op="all_reduce", effect="returns"),
        Entry(("topk_reduce_ratio_min_max",), "op", _TIMING, dims=("world",), op="all_gather", effect="returns"),
        Entry(("gather_timing",), "op", _TIMING, dims=("world",), op="all_gather_object", effect="returns",
              object_form=True),
        Entry(("log_gpu_memory_usage",), "pure", _TIMING),
    ),
)  # fmt: skip

_ENGINES = under(
    ("engine", "actor.engine", "trainer.engine"),
    (
        Entry(("get_data_parallel_rank",), "rank", _ENGINE, dims=("dp",), weak=True),
        Entry(("get_data_parallel_size",), "size", _ENGINE, dims=("dp",)),
        Entry(("get_data_parallel_group",), "group", _ENGINE, dims=("dp",), weak=True),
        Entry(("get_context_parallel_group",), "group", _ENGINE, dims=("cp",), weak=True),
    ),
)  # fmt: skip

_MESHES = under(
    ("verl.workers.engine.automodel.utils",),
    (
        Entry(("get_dp_rank",), "rank", _AUTOMODEL, dims=("dp",), extra=(("include_cp", 1, ("cp",)),)),
        Entry(("get_tp_rank",), "rank", _AUTOMODEL, dims=("tp",)),
        Entry(("get_pp_rank",), "rank", _AUTOMODEL, dims=("pp",)),
        Entry(("get_dp_group_size",), "size", _AUTOMODEL, dims=("dp",), extra=(("include_cp", 1, ("cp",)),)),
    ),
)  # fmt: skip

ENTRIES = (*_TENSORS, *_SEQUENCE, *_STAGES, *_TIMES, *_ENGINES, *_MESHES)
