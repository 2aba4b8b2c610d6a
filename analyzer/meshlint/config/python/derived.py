"""For rules: what a value was computed from.

A value that a recipe computed from a parallel size, or wrote (or left alone) because of one, keeps for each such size
an origin of kind `DERIVED` with the note `computed from context_parallel_size = 1`: the size as it was **then**. Its
place is where the size was written. A key that a condition on a size kept from being written, and that nobody else
writes, has an UNSET write with such an origin. So a rule compares `derivation(value, name)` with the size in force.
"""

from __future__ import annotations

import ast

from meshlint.config.value import Data, Kind, Origin, Value


def derivation(value: Value | None, name: str) -> tuple[Data, Origin] | None:
    """Give what `name` was when a value was computed from it, and where that was written; None where it was not."""
    if value is None:
        return None
    start = f"{name} = "
    for origin in value.origins:
        if origin.kind is Kind.DERIVED and origin.text.startswith(start):
            return _data(origin.text[len(start) :]), origin
    return None


def _data(text: str) -> Data:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
