"""What shows HCP008: no case of its own yet."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer

REPRODUCER = Reproducer(
    "HCP008", (), missing="its clauses are checks of megatron-core's training scripts, which no case runs"
)
