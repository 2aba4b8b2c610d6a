"""torch's fully sharded data parallelism. Source: https://docs.pytorch.org/docs/2.9/fsdp.html."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_DOC = "https://docs.pytorch.org/docs/2.9/fsdp.html"

ENTRIES = (
    *under(
        ("FSDP", "FullyShardedDataParallel"),
        (
            Entry(("summon_full_params",), "op", _DOC, dims=("world",), op="summon_full_params", composite=True),
            Entry(("optim_state_dict", "full_optim_state_dict", "sharded_optim_state_dict",
                   "scatter_full_optim_state_dict", "shard_full_optim_state_dict"), "op", _DOC, dims=("world",),
                  op="state_dict", composite=True, group=(-1, "group")),
            Entry(("state_dict_type",), "manager", _DOC),
            Entry(("set_state_dict_type", "get_state_dict_type", "fsdp_modules", "optim_state_dict_to_load"), "pure",
                  _DOC),
        ),
    ),
)  # fmt: skip
