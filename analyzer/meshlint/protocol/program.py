"""The linked program: what the rules of the code side read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """Every Python file in scope, linked."""

    files: tuple[str, ...] = ()
