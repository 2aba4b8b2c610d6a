"""PyTorch Lightning, Fabric and torchmetrics. Source: pytorch-lightning 2.5, src/lightning."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_SRC = "pytorch-lightning 2.5, src/lightning/pytorch/strategies/strategy.py"
_RANK = "pytorch-lightning 2.5, src/lightning/fabric/utilities/rank_zero.py"

_STRATEGY = under(
    ("strategy", "fabric", "training_type_plugin", "Fabric", "Fabric()"),
    (
        Entry(("is_global_zero",), "first", _SRC, dims=("world",), attribute=True),
        Entry(("global_rank",), "rank", _SRC, dims=("world",), attribute=True),
        Entry(("local_rank",), "rank", _SRC, dims=("world",), attribute=True, weak=True),
        Entry(("world_size",), "size", _SRC, dims=("world",), attribute=True),
        Entry(("barrier",), "op", _SRC, dims=("world",), op="barrier"),
        Entry(("broadcast",), "op", _SRC, dims=("world",), op="broadcast", payload=(0, "obj"), effect="returns"),
        Entry(("reduce", "reduce_boolean_decision", "all_reduce"), "op", _SRC, dims=("world",), op="all_reduce",
              effect="returns"),
        Entry(("all_gather",), "op", _SRC, dims=("world",), op="all_gather", effect="returns"),
    ),
)  # fmt: skip

_MODULE = "pytorch-lightning 2.5, src/lightning/pytorch/core/module.py"

_METHODS = under(
    ("LightningModule",),
    (
        Entry(("all_gather",), "op", _MODULE, dims=("world",), op="all_gather", payload=(0, "data"), effect="returns",
              inherited=True),
        Entry(("log", "log_dict"), "op", _MODULE, dims=("world",), op="all_reduce", on="sync_dist", inherited=True),
    ),
)  # fmt: skip
"""What modules of programs inherit."""

ENTRIES = (
    *_STRATEGY,
    *_METHODS,
    Entry(("trainer.is_global_zero",), "first", _SRC, dims=("world",), attribute=True),
    Entry(("trainer.global_rank",), "rank", _SRC, dims=("world",), attribute=True),
    Entry(("trainer.local_rank",), "rank", _SRC, dims=("world",), attribute=True, weak=True),
    Entry(("trainer.world_size", "trainer.num_nodes"), "size", _SRC, dims=("world",), attribute=True),
    Entry(("trainer.save_checkpoint",), "op", _SRC, dims=("world",), op="checkpoint", composite=True),
    Entry(("rank_zero_only",), "gate-decorator", _RANK, dims=("world",)),
    Entry(("rank_zero_only.rank",), "rank", _RANK, dims=("world",), attribute=True),
    Entry(("rank_zero_info", "rank_zero_warn", "rank_zero_debug", "rank_zero_deprecation"), "pure", _RANK),
)  # fmt: skip
