"""Packed sequences: what several rules ask of a config."""

from __future__ import annotations

from packaging.version import Version

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


def packed_why(config: EffectiveConfig) -> str:
    """Say who packs where no line of the launch does, for the middle of a sentence; empty where one does."""
    if config.habit("always_packed"):
        return f", which {config.framework.title} always makes,"
    return "" if config.value("packed_sequences").is_set else f", which {config.framework.title} makes by default,"


def packed_refused(config: EffectiveConfig, release: str) -> bool:
    """Say whether sequences are packed and every Transformer Engine that may run is older than `release`."""
    packed = bool(config.value("packed_sequences").data) or bool(config.habit("always_packed"))
    engine = config.versions.get("transformer-engine")
    return packed and engine is not None and all(version < Version(release) for version in engine.candidates)
