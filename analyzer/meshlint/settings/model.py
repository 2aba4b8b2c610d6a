"""What can be set, and where each setting came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from meshlint.records import dataclass


class SettingsError(Exception):
    """A settings file that is wrong; the message is one sentence with file and line."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a settings file can say; the defaults where there is none.

    `select` None means every rule. `per_file_ignores` maps a pattern, as in a `.gitignore`, to codes. `versions` maps
    a library to an exact version or a specifier set. `file` is where it was read, `lines` the line of each key.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fail_level: str = "error"
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    world_size: int | None = None
    gpu: str = ""
    preview: bool = False
    cache_dir: str = ""
    baseline: str = ""
    models: tuple[Mapping[str, Any], ...] = ()
    file: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def base(self) -> Path | None:
        """Give the folder that the patterns count from."""
        return self.file.parent if self.file is not None else None

    @property
    def baseline_file(self) -> Path | None:
        """Give the file of what is known and not told, if one is set; its path counts from the settings file."""
        return (self.base or Path()) / self.baseline if self.baseline else None

    def where(self, key: str, part: str = "") -> str:
        """Give `file:line` of a key, or of one entry of its table."""
        return place(self.file, self.lines, key, part)


def place(file: Path | None, lines: Mapping[str, int], key: str, part: str = "") -> str:
    """Give `file:line` of a setting: that of its entry, else of the key, else of the first entry; else the file."""
    first = next((line for name, line in lines.items() if name.startswith(f"{key}.")), 0)
    line = lines.get(f"{key}.{part}", 0) or lines.get(key, 0) or first
    return f"{file}:{line}" if line else str(file)
