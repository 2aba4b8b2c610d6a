"""What names say where nothing else does: evidence of a lower grade.

A parameter or attribute called `tp_rank` is taken for the place along `tp`, `dp_cp_group` for that group. Source: the
counts over twenty training libraries in which these names mean nothing else.
"""

from __future__ import annotations

DIMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tp", ("tp",)), ("tensor_parallel", ("tp",)), ("tensor_model_parallel", ("tp",)),
    ("pp", ("pp",)), ("pipeline_parallel", ("pp",)), ("pipeline_model_parallel", ("pp",)),
    ("dp", ("dp",)), ("data_parallel", ("dp",)), ("cp", ("cp",)), ("context_parallel", ("cp",)),
    ("dp_cp", ("dp", "cp")), ("tp_cp", ("tp", "cp")), ("tp_dp_cp", ("tp", "dp", "cp")),
    ("ep", ("ep",)), ("expert_model_parallel", ("ep",)), ("expert_parallel", ("ep",)), ("etp", ("etp",)),
    ("expt_dp", ("edp",)), ("edp", ("edp",)), ("expert_data_parallel", ("edp",)),
    ("model_parallel", ("tp", "pp")),
)  # fmt: skip

MESH_DIMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *DIMS,
    ("fsdp", ("dp",)), ("dp_shard", ("dp.0",)), ("dp_replicate", ("dp.1",)), ("ddp", ("dp.1",)),
    ("ulysses", ("cp",)), ("sp", ("cp",)), ("dp_shard_cp", ("dp.0", "cp")),
)  # fmt: skip
"""Names that device meshes give their dims (torchtitan, verl, transformers)."""

GLOBAL_RANK = ("rank", "global_rank", "world_rank", "process_index", "global_rank_id")
LOCAL_RANK = ("local_rank", "local_process_index")

_OF_MATRICES = ("lora", "dora", "adapter", "peft", "galore", "svd", "low_rank", "lowrank", "powersgd")


def of_a_matrix(text: str) -> bool:
    """Say whether the words around a `rank` speak of matrices of low rank: it counts their columns, not processes."""
    bare = text.lower()
    return any(word in bare for word in _OF_MATRICES)


ENVIRON: tuple[tuple[str, str], ...] = (
    ("RANK", "rank"), ("WORLD_SIZE", "size"), ("LOCAL_RANK", "local"),
    ("SLURM_PROCID", "rank"), ("SLURM_NTASKS", "size"), ("SLURM_LOCALID", "local"),
    ("OMPI_COMM_WORLD_RANK", "rank"), ("OMPI_COMM_WORLD_SIZE", "size"), ("OMPI_COMM_WORLD_LOCAL_RANK", "local"),
)  # fmt: skip
"""What launchers put into the environment. Source: the manuals of torchrun (2.9), Slurm's srun and Open MPI."""


def is_group(name: str) -> bool:
    """Say whether a name is that of a process group."""
    bare = name.lstrip("_")
    return bare in ("group", "pg", "process_group") or (bare.endswith(("_group", "_pg")) and bare != "param_group")


SIZES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tensor_model_parallel_size", ("tp",)), ("pipeline_model_parallel_size", ("pp",)),
    ("context_parallel_size", ("cp",)), ("expert_model_parallel_size", ("ep",)),
    ("expert_tensor_parallel_size", ("etp",)), ("data_parallel_size", ("dp",)),
    ("tp_size", ("tp",)), ("pp_size", ("pp",)), ("cp_size", ("cp",)), ("dp_size", ("dp",)), ("ep_size", ("ep",)),
)  # fmt: skip

WORLD_SIZE = ("world_size",)

CONFIG = ("args", "config", "cfg", "opts", "hparams", "conf", "configuration", "train_args", "training_args")
"""Objects whose attributes are settings: alike on all ranks."""
