"""Edits that rules propose: what replaces a written literal, where its text says so exactly."""

from __future__ import annotations

from meshlint.config.attention import swap
from meshlint.config.value import Kind, Value
from meshlint.finding import Edit, Wish

OPPOSITE = {"True": "False", "False": "True", "true": "false", "false": "true", "on": "off", "off": "on"}
"""Booleans as people write them in Python and YAML."""


def flip(value: Value) -> tuple[Edit, ...]:
    """Give the edit that turns a written boolean round; none where it is no plain literal."""
    origin = next((o for o in value.origins if o.span is not None), None)
    if origin is None or origin.kind is not Kind.WRITTEN or origin.text not in OPPOSITE:
        return ()
    return swap(value, origin.text, OPPOSITE[origin.text])


def literal(value: Value, new: str) -> tuple[Edit, ...]:
    """Give the edit that replaces a written literal by another; none where it is written in another way."""
    origin = next((o for o in value.origins if o.span is not None), None)
    if origin is None or origin.kind is not Kind.WRITTEN or origin.text != str(value.data):
        return ()
    return swap(value, origin.text, new)


def beside(value: Value, key: str, new: str, data: tuple[int, ...] | bool) -> tuple[Wish, ...]:
    """Give the wish for a further setting next to a written one; none where nothing is written."""
    return () if value.span is None else (Wish("beside", value.span, key, new, data),)
