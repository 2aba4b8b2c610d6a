"""Installed rule packs, by their entry points.

The entry points are read here, in the way of importlib.metadata, which takes longer to import than a small check does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from meshlint.records import dataclass

GROUP = "meshlint.rules"


@dataclass(frozen=True, slots=True)
class Pack:
    """An entry point of the group: `value` is `module:attribute`."""

    name: str
    value: str

    def load(self) -> Any:
        """Import the module and give the attribute."""
        module, _, attribute = self.value.partition(":")
        return getattr(import_module(module.strip()), attribute.strip())


def packs() -> list[Pack]:
    """Give the packs, our own first; of a distribution that is installed twice the first on the path counts."""
    return list(_packs(tuple(sys.path)))


@cache
def _packs(path: tuple[str, ...]) -> tuple[Pack, ...]:
    """A process asks several times, and nothing is installed meanwhile."""
    found = {pack: None for folder in path for pack in _of_folder(folder or ".")}
    return tuple(sorted(found, key=lambda pack: (pack.name != "meshlint", pack.name, pack.value)))


def _of_folder(folder: str) -> Iterator[Pack]:
    try:
        found = sorted(path for path in Path(folder).iterdir() if path.suffix in (".dist-info", ".egg-info"))
    except OSError:
        return
    for path in found:
        try:
            text = (path / "entry_points.txt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if GROUP in text:
            yield from _of_text(text)


def _of_text(text: str) -> Iterator[Pack]:
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield Pack(name.strip(), value.strip())
