"""An effective config that remembers what a rule asked of it: for the versions of a finding, and for `--why`."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from meshlint.config.effective import EffectiveConfig, Resolved
from meshlint.config.framework import Framework, Role
from meshlint.config.launch import Launch
from meshlint.config.shapes.source import Shapes
from meshlint.config.value import Data, Value


class Traced(EffectiveConfig):
    """Remembers, in the order of first use, the fields, libraries, variables and habits that were asked for."""

    def __init__(
        self,
        launch: Launch,
        framework: Framework,
        role: Role,
        versions: Mapping[str, Resolved],
        chosen: Mapping[str, Version],
        shapes: Shapes | None = None,
        shared: dict[str, Value] | None = None,
    ) -> None:
        super().__init__(launch, framework, role, versions, chosen, shapes, shared)
        self.fields: dict[str, None] = {}
        self.libraries: dict[str, None] = {}
        self.variables: dict[str, None] = {}
        self.habits: dict[str, None] = {}

    def value(self, name: str) -> Value:
        """Give a field, and remember it."""
        self.fields.setdefault(name)
        return super().value(name)

    def version(self, library: str) -> Version:
        """Give a version, and remember the library."""
        self.libraries.setdefault(library)
        return super().version(library)

    def env(self, name: str) -> Value | None:
        """Give a variable, and remember it."""
        self.variables.setdefault(name)
        return super().env(name)

    def habit(self, name: str) -> Data:
        """Give a habit, and remember it."""
        self.habits.setdefault(name)
        return super().habit(name)
