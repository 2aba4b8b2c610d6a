"""Overlap of communication with compute."""
