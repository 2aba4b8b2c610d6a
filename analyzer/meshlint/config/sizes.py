"""Arithmetic of parallel sizes that several rules put into their advice."""

from __future__ import annotations


def smaller_divisors(count: int, size: int) -> str:
    """Give the sizes below `size` that divide `count`, for a sentence."""
    return ", ".join(str(smaller) for smaller in range(1, size) if count % smaller == 0)
