"""ROLL's YAML: one section a worker, each with `strategy_args`; defaults lists of Hydra bring in environments."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from meshlint.config.commands.roll import MARKING, TRAINED, launch_of
from meshlint.config.hydra.app import Application, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.place import Span
from meshlint.sources.tree import Unreadable


class RollYaml:
    """Composes a pipeline's config and reads the launch that it is."""

    name = "roll-yaml"

    def claims(self, path: str) -> bool:
        """Claim YAML files."""
        return path.endswith((".yaml", ".yml"))

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Give the files that hold a worker that trains, with a strategy; every one is started by its name."""
        return [path for path in paths if _is_pipeline(path, context)]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the one launch of a file."""
        reader = context.reader()
        place = Span(path, 1)
        folder, name = posixpath.split(path)
        application = Application((Folder(folder, MARKING),), name)
        merged = settings(application, (), reader, context, place, context.environment)
        yield launch_of(merged, "pipeline", path, self.name, place, reader, {})


SURFACE = RollYaml()


def _is_pipeline(path: str, context: Context) -> bool:
    try:
        text = f"\n{context.tree.read(path).text}"
    except Unreadable:
        return False
    return "strategy_args:" in text and any(f"\n{worker}:" in text for worker in TRAINED)
