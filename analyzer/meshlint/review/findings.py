"""Findings out of the JSON that `meshlint check --format json` printed, in another job perhaps.

Whoever opened the pull request may have written the file: it is read strictly, and nothing in it is believed beyond
its form.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from meshlint.finding import Confidence, Edit, Finding, Fix, LaunchRef, Outcome, Related, Severity
from meshlint.place import Span

MAX_BYTES = 16 * 1024 * 1024
MAX_LINE = 2**31 - 1
T = TypeVar("T")


class FindingsError(Exception):
    """A file that holds no report of meshlint; the message is one sentence."""


def read(text: str) -> tuple[Finding, ...]:
    """Give the findings of a report. Raises FindingsError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise FindingsError("it is not JSON") from None
    if not isinstance(data, dict) or str(data.get("schema", "")).split(".")[0] != "1":
        raise FindingsError("it is no report that `meshlint check --format json` printed")
    try:
        return tuple(_finding(item) for item in _typed(data["findings"], list))
    except (KeyError, ValueError) as error:
        raise FindingsError(f"a finding in it is broken: {str(error)[:120]}") from None


def _typed(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{kind.__name__} is wanted, not {type(value).__name__}")
    return value


def _finding(item: Any) -> Finding:
    data: dict[str, Any] = _typed(item, dict)
    fix = data["fix"]
    return Finding(
        code=_typed(data["code"], str),
        slug=_typed(data["slug"], str),
        severity=Severity(data["severity"]),
        confidence=Confidence(data["confidence"]),
        outcome=Outcome(data["outcome"]),
        span=_span(data),
        message=_typed(data["message"], str),
        fingerprint=_typed(data["fingerprint"], str),
        related=tuple(Related(_span(r), _typed(r["message"], str)) for r in _typed(data["related"], list)),
        launches=tuple(
            LaunchRef(_typed(x["identity"], str), _span(x), _roles(x)) for x in _typed(data["launches"], list)
        ),
        fix=_fix(_typed(fix, dict)) if fix is not None else None,
        suppressed=_typed(data["suppressed"] or "", str),
        baselined=_typed(data["baselined"], bool),
    )


def _roles(data: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_typed(role, str) for role in _typed(data.get("roles", []), list))


def _fix(data: dict[str, Any]) -> Fix:
    edits = tuple(Edit(_span(edit), _typed(edit["text"], str)) for edit in _typed(data["edits"], list))
    return Fix(_typed(data["description"], str), edits, _typed(data["safe"], bool))


def _span(item: Any) -> Span:
    data: dict[str, Any] = _typed(item, dict)
    numbers = [_typed(data[key], int) for key in ("line", "column", "end_line", "end_column")]
    if not all(1 <= number <= MAX_LINE for number in numbers):
        raise ValueError("a line or a column is out of bounds")
    return Span(_typed(data["path"], str), *numbers)
