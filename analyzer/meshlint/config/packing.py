"""Packed sequences: what several rules ask of a config."""

from __future__ import annotations

from meshlint.config.effective import EffectiveConfig


def is_packed(config: EffectiveConfig) -> bool:
    """Say whether attention gets packed (THD) sequences; ends the rule where that is not known."""
    return bool(config.habit("always_packed")) or bool(config.data("packed_sequences"))


def can_be_packed(config: EffectiveConfig) -> bool:
    """Say whether sequences are packed, or may be where that is not known; for advice, which must hold either way."""
    packed = config.value("packed_sequences")
    return packed.is_unknown or bool(packed.data) or bool(config.habit("always_packed"))


def packed_needs(config: EffectiveConfig, release: str) -> str:
    """Give what an exchange needs of Transformer Engine besides, for a sentence of advice; empty where not packed."""
    return f", with Transformer Engine {release} or newer for packed sequences" if can_be_packed(config) else ""
