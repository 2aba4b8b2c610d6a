"""What cases need that run megatron-core alone: its groups and its config classes, on gloo too."""

from __future__ import annotations

MEGATRON_NEEDS = ("megatron.core",)
MEGATRON_RUNS = "megatron-core's own code"
