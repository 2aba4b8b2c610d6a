"""Reproducers: simulate, launch, verdict."""
