"""What shows CTX007: no case of its own yet."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer

REPRODUCER = Reproducer(
    "CTX007", (), missing="the assertions are Transformer Engine's own, and no case makes a bias or a padding mask yet"
)
