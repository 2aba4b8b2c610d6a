"""trl: the gathers of its context managers. Source: huggingface/trl main of 2026-07 (f2cd57710).

trl's trainers speak through Accelerate, whose model stands beside this one.
"""

from __future__ import annotations

from meshlint.models.entry import Entry

_MODELS = "trl main of 2026-07, trl/models/utils.py: GatheredParameters under ZeRO-3"
_BACKEND = "trl main of 2026-07, trl/distributed.py: GatheredParameters under ZeRO-3, summon_full_params under FSDP 1"

ENTRIES = (
    Entry(("trl.models.unwrap_model_for_generation", "trl.models.utils.unwrap_model_for_generation"), "op", _MODELS,
          dims=("world",), op="GatheredParameters", composite=True, weak=True),
    Entry(("DistributedBackend.gather_params", "DistributedBackend.summon_full_params"), "op", _BACKEND,
          dims=("world",), op="GatheredParameters", composite=True, weak=True),
)  # fmt: skip
