"""Over checkouts of the frameworks (MESHLINT_UPSTREAM names the folder that holds them): how much is known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from python_trees import launches, over

from meshlint.config.launch import Launch

FOLDER = os.environ.get("MESHLINT_UPSTREAM", "")
SIZES = ("tensor", "pipeline", "context", "expert")
CASES = {
    "Megatron-Bridge": ("bridge_recipe", "model.", "_model_parallel_size", 700),
    "NeMo": ("nemo2_recipe", "trainer.strategy.", "_model_parallel_size", 200),
    "slime": ("slime_python", "", "_model_parallel_size", 30),
}


def share(found: list[Launch], key: str) -> float:
    """Give the share of launches in which a key is not unknown."""
    known = [launch for launch in found if (value := launch.find(key)) is None or not value.is_unknown]
    return len(known) / len(found)


@pytest.mark.parametrize("name", list(CASES))
def test_sizes_are_known(name: str) -> None:
    if not (Path(FOLDER) / name).is_dir() or not FOLDER:
        pytest.skip(f"needs a checkout of {name}: set MESHLINT_UPSTREAM to the folder that holds it")
    surface, prefix, suffix, least = CASES[name]
    found = [x for x in launches(over(Path(FOLDER) / name), surface) if x.entry not in ("provider", "load")]
    assert len(found) >= least
    for size in SIZES:
        key = f"{prefix}{size}{suffix}" if size != "context" else f"{prefix}context_parallel_size"
        assert share(found, key) >= 0.9, key
