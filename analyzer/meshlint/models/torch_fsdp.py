"""torch's fully sharded data parallelism. Source: https://docs.pytorch.org/docs/2.9/fsdp.html."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_DOC = "https://docs.pytorch.org/docs/2.9/fsdp.html"
_FULLY = "https://docs.pytorch.org/docs/2.9/distributed.fsdp.fully_shard.html"
_SHARED = {"composite": True, "weak": True, "place": "receiver", "identity": "model's mesh"}
"""An event of all ranks that share a model: over which dims is not known."""

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
    *under(
        ("FSDP()", "FullyShardedDataParallel()"),
        (
            Entry(("state_dict", "load_state_dict"), "op", _DOC, op="state_dict", **_SHARED),  # type: ignore[arg-type]
            Entry(("clip_grad_norm_",), "op", _DOC, op="clip_grad_norm_", **_SHARED),  # type: ignore[arg-type]
        ),
    ),
    Entry(("FSDP()", "FullyShardedDataParallel()"), "op", _DOC, op="forward", **_SHARED),  # type: ignore[arg-type]
    Entry(("fully_shard()",), "op", _FULLY, op="forward", **_SHARED),  # type: ignore[arg-type]
    Entry(("fully_shard",), "object", _FULLY, payload=(0, "module"), effect="in-place"),
)  # fmt: skip
