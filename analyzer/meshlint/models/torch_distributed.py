"""torch.distributed: process groups, collectives in all their forms. Source: the API pages of torch 2.9."""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_DOC = "https://docs.pytorch.org/docs/2.9/distributed.html"
_PREFIXES = (
    "torch.distributed",
    "torch.distributed.distributed_c10d",
    "deepspeed.comm",
    "deepspeed.comm.comm",
    "dist",
)


def _op(
    name: str, group: int, *, payload: tuple[int, str] = (0, "tensor"), effect: str = "none", **more: object
) -> Entry:
    fields = {"names": (name,), "kind": "op", "source": _DOC, "dims": ("world",), "op": name, "group": (group, "group")}
    fields |= {"payload": payload, "effect": effect, "asynchronous": "async_op"}
    return Entry(**{**fields, **more})  # type: ignore[arg-type]


ENTRIES = under(
    _PREFIXES,
    (
        Entry(("get_rank",), "rank", _DOC, dims=("world",), group=(0, "group")),
        Entry(("get_node_local_rank", "get_local_rank"), "rank", _DOC, dims=("world",), weak=True),
        Entry(("get_world_size",), "size", _DOC, dims=("world",), group=(0, "group")),
        Entry(("get_process_group_ranks",), "ranks", _DOC, group=(0, "group")),
        Entry(("get_global_rank",), "source", _DOC, group=(0, "group"), place="argument"),
        Entry(("get_group_rank",), "pure", _DOC),
        Entry(("is_initialized", "is_available"), "yes", _DOC),
        Entry(("is_nccl_available", "is_gloo_available"), "config", _DOC),
        Entry(("get_backend",), "config", _DOC),
        _op("all_reduce", 2, effect="in-place"),
        _op("all_reduce_coalesced", 2, effect="list", payload=(0, "tensors")),
        _op("broadcast", 2, effect="in-place", root=(1, "src"), group_root="group_src"),
        _op("broadcast_object_list", 2, payload=(0, "object_list"), effect="list", root=(1, "src"),
            group_root="group_src", root_first=True, object_form=True),
        _op("all_gather", 2, payload=(0, "tensor_list"), effect="list"),
        _op("all_gather_into_tensor", 2, payload=(0, "output_tensor"), effect="in-place"),
        _op("all_gather_object", 2, payload=(0, "object_list"), effect="list", object_form=True),
        _op("gather", 3, root=(2, "dst"), group_root="group_dst", root_first=True),
        _op("gather_object", 3, payload=(0, "obj"), root=(2, "dst"), group_root="group_dst", root_first=True,
            object_form=True),
        _op("scatter", 3, root=(2, "src"), group_root="group_src", root_first=True),
        _op("scatter_object_list", 3, payload=(0, "scatter_object_output_list"), root=(2, "src"),
            group_root="group_src", root_first=True, object_form=True),
        _op("reduce", 3, root=(1, "dst"), group_root="group_dst"),
        _op("reduce_scatter", 3, payload=(0, "output")),
        _op("reduce_scatter_tensor", 3, payload=(0, "output")),
        _op("all_to_all", 2, payload=(0, "output_tensor_list")),
        _op("all_to_all_single", 4, payload=(0, "output")),
        _op("barrier", 0, payload=(-1, "")),
        _op("monitored_barrier", 0, payload=(-1, "")),
        _op("new_group", -1, payload=(-1, ""), agree=((0, "ranks"),), creates=True, asynchronous=""),
        _op("new_subgroups", -1, payload=(-1, ""), creates=True, asynchronous=""),
        _op("new_subgroups_by_enumeration", -1, payload=(-1, ""), agree=((0, "ranks_per_subgroup_list"),), creates=True,
            asynchronous=""),
        _op("init_process_group", -1, payload=(-1, ""), asynchronous="", composite=True),
        Entry(("destroy_process_group", "set_debug_level"), "pure", _DOC),
        Entry(("send", "recv", "isend", "irecv", "batch_isend_irecv", "P2POp", "send_object_list",
               "recv_object_list"), "p2p", _DOC),
        Entry(("ReduceOp", "Work"), "object", _DOC),
        Entry(("group.WORLD", "GroupMember.WORLD"), "group", _DOC, dims=("world",), attribute=True),
        Entry(("_get_default_group",), "group", _DOC, dims=("world",)),
    ),
) + under(
    ("torch.distributed.nn.functional", "torch.distributed.nn", "dist.nn.functional", "dist.nn"),
    (
        _op("all_reduce", 2, effect="returns", asynchronous=""),
        _op("all_gather", 1, effect="returns", asynchronous=""),
        _op("broadcast", 2, effect="returns", root=(1, "src"), asynchronous=""),
        _op("reduce_scatter", 3, asynchronous=""),
        _op("all_to_all_single", 4, asynchronous=""),
    ),
) + under(
    ("torch.distributed._functional_collectives", "funcol", "ft_c"),
    (
        _op("all_reduce", 2, effect="returns", asynchronous=""),
        _op("all_gather_tensor", 2, effect="returns", asynchronous=""),
        _op("reduce_scatter_tensor", 3, asynchronous=""),
        _op("all_to_all_single", 3, asynchronous=""),
        _op("broadcast", 2, effect="returns", root=(1, "src"), asynchronous=""),
        Entry(("wait_tensor",), "unwrap", _DOC),
    ),
)  # fmt: skip
