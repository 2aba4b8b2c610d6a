"""A surface of YAML files that are each started by name and composed by Hydra's rules: ROLL, AReaL."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping

from meshlint.config.hydra.app import Application, Settings, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.hydra.items import Marking
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.value import Value
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Reader, Unreadable


@dataclass(frozen=True, slots=True)
class ComposedFiles:
    """The surface: `speaks` says by its text whether a file is a config; `launch` makes the launch of a merged one.

    `marking` is what the framework's command reader marks the files' folder with, `entry` the launch's entry.
    """

    name: str
    marking: Marking
    entry: str
    speaks: Callable[[str], bool]
    launch: Callable[[Settings, str, str, str, Span, Reader, Mapping[str, Value]], Launch]

    def claims(self, path: str) -> bool:
        """Claim YAML files."""
        return path.endswith((".yaml", ".yml"))

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Give the files that are a config; every one is started by its name."""
        return [path for path in paths if self._is_config(path, context)]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the one launch of a file."""
        reader = context.reader()
        place = Span(path, 1)
        folder, name = posixpath.split(path)
        application = Application((Folder(folder, self.marking),), name)
        merged = settings(application, (), reader, context, place, context.environment)
        yield self.launch(merged, self.entry, path, self.name, place, reader, {})

    def _is_config(self, path: str, context: Context) -> bool:
        try:
            return self.speaks(f"\n{context.tree.read(path).text}")
        except Unreadable:
            return False
