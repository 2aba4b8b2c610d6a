"""Dims, groups, gates and protocol terms, their simulation, and the drawings of ranks."""
