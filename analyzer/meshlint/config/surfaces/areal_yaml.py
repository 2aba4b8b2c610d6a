"""AReaL's YAML: one section an engine, its mesh in one word (`backend: megatron:d4p2t2`, or `allocation_mode`)."""

from __future__ import annotations

from meshlint.config.commands.areal import MARKING, launch_of
from meshlint.config.hydra.files import ComposedFiles

_MESHES = ("\nallocation_mode:", "\n  backend: ")
_ENGINES = ("\nactor:", "\nmodel:", "\ncritic:")


def _speaks(text: str) -> bool:
    """Say whether a file holds a cluster, an engine and its mesh."""
    return "n_gpus_per_node:" in text and all(any(k in text for k in keys) for keys in (_MESHES, _ENGINES))


SURFACE = ComposedFiles("areal-yaml", MARKING, "train", _speaks, launch_of)
