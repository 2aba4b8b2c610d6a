"""torch.distributed device meshes, DTensor, FSDP and distributed checkpoints. Source: the API pages of torch 2.9."""

from __future__ import annotations

from meshlint.models.entry import Entry

_MESH = "https://docs.pytorch.org/docs/2.9/distributed.html#devicemesh"
_DTENSOR = "https://docs.pytorch.org/docs/2.9/distributed.tensor.html"
_STATES = "https://docs.pytorch.org/docs/2.9/optim.html: states are made as parameters first have gradients"
_CKPT = "https://docs.pytorch.org/docs/2.9/distributed.checkpoint.html"

ENTRIES = (
    Entry(("init_device_mesh",), "mesh", _MESH, dims=("world",), op="init_device_mesh", creates=True),
    Entry(("DeviceMesh.from_group",), "mesh", _MESH),
    Entry(("optimizer.state", "optim.state"), "unordered", _STATES, attribute=True),
    Entry(("full_tensor",), "op", _DTENSOR, op="full_tensor", effect="returns", composite=True, weak=True,
          place="receiver"),
    Entry(("distribute_tensor", "distribute_module"), "op", _DTENSOR, op="distribute_tensor", composite=True,
          weak=True),
    Entry(
        ("torch.distributed.checkpoint.save", "torch.distributed.checkpoint.load", "dcp.save", "dcp.load",
         "dist_cp.save", "dist_cp.load", "torch.distributed.checkpoint.async_save", "dcp.async_save",
         "dist_cp.load_state_dict", "dist_cp.save_state_dict"),
        "op", _CKPT, dims=("world",), op="checkpoint", group=(-1, "process_group"), composite=True,
        off="no_dist",
    ),
    Entry(
        ("torch.distributed.checkpoint.state_dict.get_model_state_dict",
         "torch.distributed.checkpoint.state_dict.get_optimizer_state_dict",
         "torch.distributed.checkpoint.state_dict.get_state_dict",
         "torch.distributed.checkpoint.state_dict.set_model_state_dict",
         "torch.distributed.checkpoint.state_dict.set_optimizer_state_dict",
         "torch.distributed.checkpoint.state_dict.set_state_dict"),
        "op", _CKPT, dims=("world",), op="state_dict", composite=True, weak=True,
    ),
)  # fmt: skip
