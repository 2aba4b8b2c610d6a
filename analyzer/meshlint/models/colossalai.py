"""ColossalAI: pipeline stages and the coordinator. Source: ColossalAI v0.5."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

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

_MESH = under(
    ("pg_mesh", "ProcessGroupMesh"),
    (
        Entry(("get_ranks_in_group",), "ranks", "ColossalAI v0.5, colossalai/cluster/process_group_mesh.py",
              group=(0, "group")),
    ),
)  # fmt: skip

ENTRIES = (*_STAGES, *_COORDINATOR, *_MESH)
