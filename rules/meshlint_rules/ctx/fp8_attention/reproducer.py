"""What shows CTX008: no case of its own yet."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer

REPRODUCER = Reproducer(
    "CTX008",
    (),
    missing="which FP8 attention there is depends on Transformer Engine and the GPU, and no case tries it yet",
)
