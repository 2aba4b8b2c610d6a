"""Ranks and gates of the training libraries: Megatron-LM's training utilities, Megatron-Bridge, NeMo, DeepSpeed, verl.

Each entry names its library in `source`. Where the library's own source is in scope it is read instead.
"""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_BRIDGE = "Megatron-Bridge v0.4.0, src/megatron/bridge/utils/common_utils.py"
_LM = "Megatron-LM core_v0.16.1, megatron/training/utils.py"
_NEMO = "NeMo 2.4, nemo/utils/get_rank.py"

_COMMON = (
    Entry(("utils.is_rank0", "is_rank0"), "first", _LM, dims=("world",)),
    Entry(("utils.is_last_rank", "is_last_rank"), "last", _LM, dims=("world",)),
    Entry(("common_utils.get_rank_safe", "get_rank_safe"), "rank", _BRIDGE, dims=("world",)),
    Entry(("common_utils.get_world_size_safe", "get_world_size_safe"), "size", _BRIDGE, dims=("world",)),
    Entry(("common_utils.get_local_rank_preinit", "get_local_rank_preinit"), "rank", _BRIDGE, dims=("world",),
          weak=True),
    Entry(("is_global_rank_zero",), "first", _NEMO, dims=("world",)),
    Entry(("get_rank.get_rank",), "rank", _NEMO, dims=("world",)),
    Entry(("get_last_rank",), "source", _NEMO, dims=("world",), place="last"),
    Entry(("is_rank_0", "is_rank_zero", "is_master", "is_main_rank", "is_main_process", "is_local_master"), "first",
          "names in OpenRLHF, ms-swift and ColossalAI for the first rank", dims=("world",), weak=True),
    Entry(("os.path.exists", "os.path.isfile", "os.path.isdir", "os.listdir", "glob.glob", "Path.exists"), "local",
          "the file system: https://docs.python.org/3/library/os.path.html"),
    Entry(("time.time", "time.perf_counter", "time.monotonic"), "local",
          "the clock: https://docs.python.org/3/library/time.html"),
    Entry(("socket.gethostname", "platform.node"), "local",
          "the host: https://docs.python.org/3/library/socket.html#socket.gethostname"),
    Entry(("os.environ", "os.getenv", "os.environ.get"), "config",
          "the environment: https://docs.python.org/3/library/os.html"),
    Entry(("safe_ddp_context",), "manager", "ms-swift v3.8, swift/utils/torch_utils.py"),
)  # fmt: skip

_COMPOSER = under(
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

_STAGES = under(
    ("stage_manager",),
    (
        Entry(("is_first_stage",), "first", "ColossalAI v0.5, colossalai/pipeline/stage_manager.py", dims=("pp",)),
        Entry(("is_last_stage",), "last", "ColossalAI v0.5, colossalai/pipeline/stage_manager.py", dims=("pp",)),
    ),
)  # fmt: skip

_COORDINATOR = under(
    ("coordinator", "DistCoordinator", "DistCoordinator()"),
    (
        Entry(("is_master",), "first", "ColossalAI v0.5, colossalai/cluster/dist_coordinator.py", dims=("world",)),
        Entry(("is_node_master",), "first", "ColossalAI v0.5, colossalai/cluster/dist_coordinator.py", dims=("world",),
              weak=True),
        Entry(("is_last_process",), "last", "ColossalAI v0.5, colossalai/cluster/dist_coordinator.py", dims=("world",)),
        Entry(("block_all",), "op", "ColossalAI v0.5, colossalai/cluster/dist_coordinator.py", dims=("world",),
              op="barrier"),
        Entry(("priority_execution",), "manager", "ColossalAI v0.5, colossalai/cluster/dist_coordinator.py"),
    ),
)  # fmt: skip

ENTRIES = (*_COMMON, *_COMPOSER, *_STAGES, *_COORDINATOR)
