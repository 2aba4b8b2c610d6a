"""AReaL's YAML: one section an engine, its mesh in one word (`backend: megatron:d4p2t2`, or `allocation_mode`)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from meshlint.config.commands.areal import MARKING, launch_of
from meshlint.config.hydra.app import Application, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.place import Span
from meshlint.sources.tree import Unreadable

_MESHES = ("\nallocation_mode:", "\n  backend:")
_ENGINES = ("\nactor:", "\nmodel:", "\ncritic:")


class ArealYaml:
    """Reads the launch that a file given as `--config` is."""

    name = "areal-yaml"

    def claims(self, path: str) -> bool:
        """Claim YAML files."""
        return path.endswith((".yaml", ".yml"))

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Give the files that hold a cluster, an engine and its mesh."""
        return [path for path in paths if _is_experiment(path, context)]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the one launch of a file."""
        reader = context.reader()
        place = Span(path, 1)
        folder, name = posixpath.split(path)
        application = Application((Folder(folder, MARKING),), name)
        merged = settings(application, (), reader, context, place, context.environment)
        yield launch_of(merged, "train", path, self.name, place, reader, {})


SURFACE = ArealYaml()


def _is_experiment(path: str, context: Context) -> bool:
    try:
        text = f"\n{context.tree.read(path).text}"
    except Unreadable:
        return False
    parts = ("n_gpus_per_node:" in text, *(any(k in text for k in keys) for keys in (_MESHES, _ENGINES)))
    return all(parts)
