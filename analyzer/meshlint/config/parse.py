"""From what a surface read to a field's data: strings of a command line, YAML scalars, Python literals."""

from __future__ import annotations

import ast

from meshlint.config.value import Data

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
_NULL = frozenset({"none", "null", "~"})
MAX_DIGITS = 18
MAX_SHOWN = 60
"""Characters shown of what cannot be read as what it should be."""


def shown(data: Data) -> str:
    """Write data for a message: in quotes, several words with spaces between, a long text cut."""
    text = " ".join(map(str, data)) if isinstance(data, tuple) else str(data)
    return f"`{text}`" if len(text) <= MAX_SHOWN else f"`{text[:MAX_SHOWN]}...`"


def is_null(data: Data) -> bool:
    """Say whether data is null, in Python or spelt out."""
    return data is None or (isinstance(data, str) and data.strip().lower() in _NULL)


def whole(text: str) -> int | None:
    """Give the whole number that digits spell; None for anything else, and for more digits than a size can have."""
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def as_int(data: Data) -> Data:
    """Read a whole number; null stays None."""
    if is_null(data):
        return None
    if isinstance(data, tuple) and len(data) == 1:
        return as_int(data[0])
    if isinstance(data, bool | tuple):
        raise ValueError(f"{shown(data)} is not a whole number")
    if isinstance(data, int):
        return data
    if isinstance(data, float):
        if data.is_integer() and abs(data) < 10**MAX_DIGITS:
            return int(data)
        raise ValueError(f"{shown(data)} is not a whole number")
    text = str(data).strip().replace("_", "")
    if len(text) > MAX_DIGITS or not text.lstrip("+-").isdecimal():
        raise ValueError(f"{shown(data)} is not a whole number")
    return int(text)


def as_float(data: Data) -> Data:
    """Read a number; null stays None."""
    if is_null(data):
        return None
    if isinstance(data, bool | tuple):
        raise ValueError(f"{shown(data)} is not a number")
    try:
        return float(data)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{shown(data)} is not a number") from None


def as_bool(data: Data) -> Data:
    """Read a truth value; a bare flag is True; null stays None."""
    if isinstance(data, bool):
        return data
    if is_null(data):
        return None
    text = str(data).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"{shown(data)} is neither true nor false")


def as_str(data: Data) -> Data:
    """Read a word; null stays None."""
    if is_null(data):
        return None
    if isinstance(data, tuple):
        if len(data) != 1:
            raise ValueError(f"{shown(data)} is not one word")
        return as_str(data[0])
    return str(data).strip()


def _parts(data: Data) -> tuple[Data, ...]:
    if isinstance(data, tuple | list):
        single = len(data) == 1 and isinstance(data[0], str)
        return _parts(data[0]) if single else tuple(data)
    if not isinstance(data, str):
        return (data,)
    text = data.strip()
    if text[:1] in "[(" and text[-1:] in "])":
        text = text[1:-1]
    return tuple(p for p in text.replace(",", " ").split())


def as_ints(data: Data) -> Data:
    """Read a list of whole numbers: `[2,2]`, `2 2`, a tuple, one number; null stays None, `[]` stays empty."""
    return None if is_null(data) else tuple(as_int(p) for p in _parts(data))


def as_strs(data: Data) -> Data:
    """Read a list of words: one word is a list of one; null stays None."""
    return None if is_null(data) else tuple(word for p in _parts(data) if (word := str(p).strip("'\" ")))


def as_data(data: Data) -> Data:
    """Take what was written as it is; null stays None."""
    return None if is_null(data) else data


def as_name(data: Data) -> Data:
    """Read a word of a fixed set, in lower case; an enum's member (`AttnBackend.flash`) gives its name."""
    word = as_str(data)
    return word if word is None else str(word).rsplit(".", 1)[-1].strip().lower()


def as_names(data: Data) -> Data:
    """Read a list of words of a fixed set, nulls left out; null stays None."""
    return None if is_null(data) else tuple(name for p in as_strs(data) if (name := as_name(p)))


def as_window(data: Data) -> Data:
    """Read a sliding window as (left, right): `128,0`, `(128, 0)`, `[128, 0]`; null stays None."""
    window = as_ints(data)
    if window is not None and len(window) != 2:
        raise ValueError(f"{shown(data)} is not a window of two numbers")
    return window


MAX_PATTERN = 4096
"""Entries of a layer pattern; no model has more layers."""
MAX_EXPRESSION = 2000
"""Characters of a layer pattern's expression."""


def as_frequency(data: Data) -> Data:
    """Read a layer pattern: N (every N-th layer) or a list of 0 and 1, also as an expression `([0]*3+[1])*2`.

    The expression holds lists, `+`, `*`, whole numbers and parentheses, and nothing else.
    """
    if is_null(data):
        return None
    if isinstance(data, tuple):
        return tuple(as_int(p) for p in data)
    if not isinstance(data, str) or "[" not in data:
        return as_int(data)
    return _pattern(data)


def _pattern(text: str) -> tuple[int, ...]:
    wanted = f"{text[:60]!r} is not a list of 0 and 1"
    if len(text) > MAX_EXPRESSION:
        raise ValueError(wanted)
    try:
        value = _term(ast.parse(text.strip(" '\""), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(wanted) from None
    if isinstance(value, int):
        raise ValueError(wanted)
    return value


def _term(node: ast.expr) -> int | tuple[int, ...]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.List):
        items = [_term(item) for item in node.elts]
        return tuple(item for item in items if isinstance(item, int))
    if isinstance(node, ast.BinOp):
        return _joined(node.op, _term(node.left), _term(node.right))
    raise ValueError("neither a list nor a number")


def _joined(operator: ast.operator, left: int | tuple[int, ...], right: int | tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(left, int) and isinstance(right, tuple):
        left, right = right, left
    if not isinstance(left, tuple):
        raise ValueError("no list")
    if isinstance(operator, ast.Mult) and isinstance(right, int) and len(left) * right <= MAX_PATTERN:
        return left * right
    if isinstance(operator, ast.Add) and isinstance(right, tuple) and len(left) + len(right) <= MAX_PATTERN:
        return left + right
    raise ValueError("not a sum or a repetition, or too long")
