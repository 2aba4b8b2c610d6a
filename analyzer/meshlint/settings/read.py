"""Finding and reading the settings file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from meshlint.settings.model import Settings, SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE = "meshlint.toml"
PROJECT_FILE = "pyproject.toml"
MAX_BYTES = 1024 * 1024
MAX_PARTS = 1000
"""Dots on one line."""


def find(start: Path) -> Path | None:
    """Give the nearest settings file, from a folder upward to the top of its checkout.

    A `pyproject.toml` counts only where it has a `[tool.meshlint]` table; a `meshlint.toml` beside it goes first.
    """
    for folder in (start, *start.parents):
        if (folder / OWN_FILE).is_file():
            return folder / OWN_FILE
        project = folder / PROJECT_FILE
        if project.is_file() and _has_table(project):
            return project
        if (folder / ".git").exists():
            return None
    return None


def load(file: Path) -> Settings:
    """Read a settings file; raises SettingsError for whatever is wrong in it."""
    text = _text(file)
    try:
        data = _parsed(text)
    except ValueError as error:
        raise SettingsError(f"{file}: it is not TOML: {error}") from None
    header = ""
    if file.name == PROJECT_FILE:
        header = "tool.meshlint"
        data = data.get("tool", {}).get("meshlint", {})
    lines = dict(_lines(text, header))
    return _build(data, file, lines)


def _parsed(text: str) -> dict[str, Any]:
    """Parse TOML; raises ValueError. A key of very many parts would cost the parser their square."""
    if any(row.count(".") > MAX_PARTS for row in text.split("\n")):
        raise ValueError(f"a line has more than {MAX_PARTS} dots")
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return data


def _has_table(file: Path) -> bool:
    try:
        text = _text(file)
    except SettingsError:
        return False
    if "meshlint" not in text:
        return False
    try:
        tool = _parsed(text).get("tool", {})
    except ValueError:
        return False
    return isinstance(tool, dict) and isinstance(tool.get("meshlint"), dict)


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SettingsError(f"{file}: it has more than {MAX_BYTES:,} bytes")
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: it cannot be read: {error}") from None


def _lines(text: str, header: str) -> Iterator[tuple[str, int]]:
    """Give (dotted key below the header, line) for each table and key that stands at the start of a line."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("[") and "]" in bare:
            table = bare.strip("[] \t").split("]")[0].replace('"', "").replace("'", "").replace(" ", "")
            name = table
        elif "=" in bare and not bare.startswith("#"):
            key = bare.split("=", 1)[0].strip().strip("\"'")
            name = f"{table}.{key}" if table else key
        else:
            continue
        if not header:
            yield name, number
        elif name.startswith(f"{header}."):
            yield name[len(header) + 1 :], number


def _strings(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
        raise ValueError("a list of strings")
    return tuple(data)


def _string(data: Any) -> str:
    if not isinstance(data, str):
        raise ValueError("a string")
    return data


def _positive(data: Any) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or data < 1:
        raise ValueError("a whole number above 0")
    return data


def _bool(data: Any) -> bool:
    if not isinstance(data, bool):
        raise ValueError("true or false")
    return data


def _level(data: Any) -> str:
    if data not in ("error", "warning", "info"):
        raise ValueError('"error", "warning" or "info"')
    return str(data)


def _table(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ValueError("a table")
    return data


def _tables(data: Any) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise ValueError("an array of tables: [[tool.meshlint.models]]")
    return tuple(data)


def _string_table(data: Any) -> Mapping[str, str]:
    table = _table(data)
    if not all(isinstance(value, str) for value in table.values()):
        raise ValueError("a table of strings")
    return dict(table)


def _scalar_table(data: Any) -> Mapping[str, str]:
    table = _table(data)
    if not all(isinstance(value, str | int | float) for value in table.values()):
        raise ValueError("a table of strings and numbers")
    return {key: str(value) for key, value in table.items()}


def _codes_table(data: Any) -> Mapping[str, tuple[str, ...]]:
    return {key: _strings(value) for key, value in _table(data).items()}


KEYS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "select": ("rule codes or families to judge, in place of all", _strings),
    "extend-select": ("rule codes or families to judge besides", _strings),
    "ignore": ("rule codes or families to leave out", _strings),
    "exclude": ("patterns, as in a .gitignore, of files to leave out", _strings),
    "per-file-ignores": ("a table from patterns to codes that are not reported in those files", _codes_table),
    "fail-level": ("the least severity that makes the exit status 1", _level),
    "versions": ("a table from libraries to a version or a specifier set", _string_table),
    "environment": ("a table of environment variables that are set at launch", _scalar_table),
    "world-size": ("the number of ranks of every launch", _positive),
    "gpu": ("the GPU of the cluster, such as H100", _string),
    "preview": ("whether rules in preview are judged too", _bool),
    "cache-dir": ("where results are kept between runs", _string),
    "models": ("an array of tables that describe functions of your own code", _tables),
}
"""Each key: what it says, and its reader, which raises ValueError with what it wants."""


def _build(data: Mapping[str, Any], file: Path, lines: Mapping[str, int]) -> Settings:
    values: dict[str, Any] = {}
    for key, value in data.items():
        where = f"{file}:{lines[key]}" if key in lines else str(file)
        if key not in KEYS:
            raise SettingsError(f"{where}: there is no setting `{key}`{_suggestion(key)}")
        try:
            values[key.replace("-", "_")] = KEYS[key][1](value)
        except ValueError as error:
            raise SettingsError(f"{where}: `{key}` must be {error}") from None
    return Settings(**values, file=file, lines=lines)


def _suggestion(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key.replace("_", "-"), KEYS, 1)
    return f"; did you mean `{near[0]}`?" if near else f" (there are: {', '.join(KEYS)})"
