"""The JSON schema of the settings, made from the same table that reads them."""

from __future__ import annotations

from typing import Any

from meshlint.settings.read import KEYS

_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_STRING_TABLE: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}

_TYPES: dict[str, dict[str, Any]] = {
    "select": _STRINGS,
    "extend-select": _STRINGS,
    "ignore": _STRINGS,
    "exclude": _STRINGS,
    "per-file-ignores": {"type": "object", "additionalProperties": _STRINGS},
    "fail-level": {"enum": ["error", "warning", "info"]},
    "versions": _STRING_TABLE,
    "environment": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
    "world-size": {"type": "integer", "minimum": 1},
    "gpu": {"type": "string"},
    "preview": {"type": "boolean"},
    "cache-dir": {"type": "string"},
    "baseline": {"type": "string"},
    "models": {"type": "array", "items": {"type": "object"}},
}


def schema() -> dict[str, Any]:
    """Give the schema of `meshlint.toml`, and of the table `[tool.meshlint]`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "meshlint settings",
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {"description": doc, **_TYPES[key]} for key, (doc, _) in KEYS.items()},
    }
