"""Recomputed activations."""
