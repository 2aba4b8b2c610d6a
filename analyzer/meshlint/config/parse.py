"""From what a surface read to a field's data: strings of a command line, YAML scalars, Python literals."""

from __future__ import annotations

from meshlint.config.value import Data

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
_NULL = frozenset({"none", "null", "~"})
MAX_DIGITS = 18


def is_null(data: Data) -> bool:
    """Say whether data is null, in Python or spelt out."""
    return data is None or (isinstance(data, str) and data.strip().lower() in _NULL)


def as_int(data: Data) -> Data:
    """Read a whole number; null stays None."""
    if is_null(data):
        return None
    if isinstance(data, tuple) and len(data) == 1:
        return as_int(data[0])
    if isinstance(data, bool | tuple):
        raise ValueError(f"{data!r} is not a whole number")
    if isinstance(data, int):
        return data
    if isinstance(data, float):
        if data.is_integer() and abs(data) < 10**MAX_DIGITS:
            return int(data)
        raise ValueError(f"{data!r} is not a whole number")
    text = str(data).strip().replace("_", "")
    if len(text) > MAX_DIGITS or not text.lstrip("+-").isdigit():
        raise ValueError(f"{data!r} is not a whole number")
    return int(text)


def as_float(data: Data) -> Data:
    """Read a number; null stays None."""
    if is_null(data):
        return None
    if isinstance(data, bool | tuple):
        raise ValueError(f"{data!r} is not a number")
    try:
        return float(data)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{data!r} is not a number") from None


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
    raise ValueError(f"{data!r} is neither true nor false")


def as_str(data: Data) -> Data:
    """Read a word; null stays None."""
    if is_null(data):
        return None
    if isinstance(data, tuple):
        if len(data) != 1:
            raise ValueError(f"{data!r} is not one word")
        return as_str(data[0])
    return str(data).strip()


def _parts(data: Data) -> tuple[Data, ...]:
    if isinstance(data, tuple | list):
        return tuple(data)
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
    return None if is_null(data) else tuple(str(p).strip("'\" ") for p in _parts(data))
