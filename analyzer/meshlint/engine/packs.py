"""Installed rule packs, by their entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

GROUP = "meshlint.rules"


def packs() -> list[EntryPoint]:
    """Give the packs, our own first."""
    return sorted(entry_points(group=GROUP), key=lambda e: (e.name != "meshlint", e.name, e.value))
