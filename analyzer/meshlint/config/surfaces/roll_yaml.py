"""ROLL's YAML: one section a worker, each with `strategy_args`; defaults lists of Hydra bring in environments."""

from __future__ import annotations

from meshlint.config.commands.roll import MARKING, TRAINED, launch_of
from meshlint.config.hydra.files import ComposedFiles


def _speaks(text: str) -> bool:
    """Say whether a file holds a worker that trains, with a strategy."""
    return "strategy_args:" in text and any(f"\n{worker}:" in text for worker in TRAINED)


SURFACE = ComposedFiles("roll-yaml", MARKING, "pipeline", _speaks, launch_of)
