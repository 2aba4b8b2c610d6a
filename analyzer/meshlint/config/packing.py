"""Packed sequences: what several rules ask of a config."""

from __future__ import annotations

from meshlint.config.effective import EffectiveConfig


def is_packed(config: EffectiveConfig) -> bool:
    """Say whether attention gets packed (THD) sequences; ends the rule where that is not known."""
    return bool(config.habit("always_packed")) or bool(config.data("packed_sequences"))
