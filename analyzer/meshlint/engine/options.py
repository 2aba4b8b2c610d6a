"""What a person asked of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from meshlint.config.value import EMPTY, Value
from meshlint.records import dataclass
from meshlint.settings.model import Settings

if TYPE_CHECKING:
    from meshlint.engine.begin import Begun


class UsageError(Exception):
    """What was asked makes no sense; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Options:
    """The command line, beside the settings file; what is given here goes before the file.

    `tick` is told how far a long run is: done, of how many, and what.
    """

    settings: Settings = field(default_factory=Settings)
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    world_size: int | None = None
    gpu: str = ""
    preview: bool = False
    cwd: Path = field(default_factory=Path.cwd)
    cache: bool = True
    tick: Callable[[int, int, str], None] | None = None
    begun: Begun | None = None
    """What git was asked early."""

    def asked(self) -> tuple[str, ...]:
        """Give everything that decides the report, as texts, for the cache's key."""
        settings = self.settings
        file = settings.file.read_text("utf-8") if settings.file is not None else ""
        lists = (self.select, self.extend_select, self.ignore, self.exclude, sorted(self.pins.items()))
        values = sorted((name, str(value.data)) for name, value in self.environment.items())
        return (
            str(settings.file),
            file,
            *map(repr, (*lists, values, self.world_size, self.gpu, self.preview, str(self.cwd))),
        )
