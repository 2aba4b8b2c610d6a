"""Mixture of experts: what several rules ask of a config."""

from __future__ import annotations

from meshlint.config.effective import EffectiveConfig


def has_experts(config: EffectiveConfig) -> bool:
    """Say whether any layer has experts; ends the rule where that is not known.

    A `moe_layer_freq` list of zeros leaves none (core_v0.16.1 models/gpt/gpt_layer_specs.py, the layers of a decoder).
    """
    if config.data("num_moe_experts") in (None, 0):
        return False
    often = config.value("moe_layer_freq").data  # unknown: a model with experts has a layer that holds them
    return not isinstance(often, tuple) or any(often)


def trains(config: EffectiveConfig) -> bool:
    """Say whether the role runs a backward pass; ends the rule where that is not known."""
    return config.data("training") is not False
