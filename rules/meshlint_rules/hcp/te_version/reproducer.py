"""What shows HCP005: no case of its own yet."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer

REPRODUCER = Reproducer("HCP005", (), missing="it speaks of Transformer Engine below 1.12, which no case brings along")
