"""Megatron-Bridge recipes: functions that return a ConfigContainer, and scripts that take one and train."""

from __future__ import annotations

from meshlint.config.python.bridge import KNOWLEDGE
from meshlint.config.python.explore import Outcome
from meshlint.config.python.machine import Sink
from meshlint.config.python.recipes import CONTAINER, PACKAGES, is_candidate
from meshlint.config.python.surface import PythonSurface

_ENTRIES = {
    "initialize_model_parallel": "provider",
    "provide_distributed_model": "provider",
    "load_megatron_model": "load",
}


def _speaks(text: str) -> bool:
    # Megatron-LM has a ConfigContainer of its own, deep in its training loop: that is no recipe.
    if "megatron.bridge" not in text:
        return False
    return any(word in text for word in ("ConfigContainer", *(f"{name}." for name in PACKAGES))) or any(
        f"{name}(" in text for name in ("pretrain", "finetune", *_ENTRIES)
    )


def _accepts(outcome: Outcome) -> bool:
    """Say whether what a function gave is a config to launch: a container whose model is there."""
    if outcome.record is None or outcome.record.type != CONTAINER:
        return False
    return any(row.key.startswith("model.") or row.key in ("*", "@model_id") for row in outcome.rows)


def entry_of(sink: Sink) -> str:
    """Give the entry that a call starts: `train`, `provider` or `load`."""
    return _ENTRIES.get(sink.name, "train")


SURFACE = PythonSurface(
    name="bridge-recipe",
    framework="megatron-bridge",
    knowledge=KNOWLEDGE,
    speaks=_speaks,
    candidate=is_candidate,
    accepts=_accepts,
    entry_of=entry_of,
)
