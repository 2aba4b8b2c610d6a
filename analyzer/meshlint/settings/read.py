"""Finding and reading the settings file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from meshlint.settings.model import Settings, SettingsError, place
from meshlint.words import meant

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE = "meshlint.toml"
PROJECT_FILE = "pyproject.toml"
NAME = "meshlint"
HEADER = f"tool.{NAME}"
"""The table of a `pyproject.toml` that holds the settings."""
MAX_BYTES = 1024 * 1024
MAX_PARTS = 1000
"""Dots on one line."""


def find(start: Path) -> Path | None:
    """Give the nearest settings file, from a folder upward to the top of its checkout.

    A `pyproject.toml` counts only where it has a `[tool.meshlint]` table, or means to and is no TOML; a `meshlint.toml`
    beside it goes first.
    """
    return next((file for file in _files(start) if file.name == OWN_FILE or _has_table(file)), None)


def near_miss(start: Path) -> str:
    """Name the table of a `pyproject.toml` that must have been meant and is not read; empty where there is none.

    Looked at are the files that `find` passes by.
    """
    for file in _files(start):
        if file.name == OWN_FILE or _has_table(file):
            return ""
        found = next(_near_misses(file), None)
        if found is not None:
            line, table = found
            return f"{file}:{line}: `[{table}]` is no table of meshlint; did you mean `[{HEADER}]`?"
    return ""


def _files(start: Path) -> Iterator[Path]:
    """Give the files that could hold settings, nearest first."""
    for folder in (start, *start.parents):
        yield from (folder / name for name in (OWN_FILE, PROJECT_FILE) if (folder / name).is_file())
        if (folder / ".git").exists():
            return


def _near_misses(file: Path) -> Iterator[tuple[int, str]]:
    try:
        text = _text(file)
    except SettingsError:
        return
    for number, row in enumerate(text.splitlines(), 1):
        if not row.lstrip().startswith("["):
            continue
        table = row.strip().strip("[]").partition("]")[0].strip()
        top, _, name = table.partition(".")
        word = (name if top == "tool" else table).partition(".")[0].strip("\"' ")
        if 6 <= len(word) <= 10 and len(set(word.lower()) & set(NAME)) >= 6 and meant(word, [NAME], False, 0.8):
            yield number, table


def load(file: Path) -> Settings:
    """Read a settings file; raises SettingsError for whatever is wrong in it."""
    text = _text(file)
    try:
        data = _parsed(text)
    except ValueError as error:
        told = str(error)
        line = told.partition("(at line ")[2].partition(",")[0]
        where = f"{file}:{line}" if line.isdecimal() else str(file)
        raise SettingsError(f"{where}: it is not TOML: {told}") from None
    header = ""
    if file.name == PROJECT_FILE:
        header = HEADER
        data = _table_of(file, data, "tool", "meshlint")
    lines = dict(_lines(text, header))
    return _build(data, file, lines)


def _table_of(file: Path, data: dict[str, Any], *names: str) -> dict[str, Any]:
    """Give an inner table, empty where there is none; raises SettingsError for something else of its name."""
    for name in names:
        data = data.get(name, {})
        if not isinstance(data, dict):
            raise SettingsError(f"{file}: `{name}` must be a table")
    return data


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
        return any(row.strip().lstrip("[ ").startswith(HEADER) for row in text.splitlines() if row.lstrip()[:1] == "[")
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
            key = _key(bare)
            name = f"{table}.{key}" if table else key
        else:
            continue
        if not header:
            yield name, number
        elif name.startswith(f"{header}."):
            yield name[len(header) + 1 :], number


def _key(bare: str) -> str:
    """Give the key that a line begins with, without its quotes."""
    end = bare.find(bare[0], 1) if bare[0] in "\"'" else -1
    return bare[1:end] if end > 0 else bare.split("=", 1)[0].strip()


def _strings(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
        raise ValueError("a list of strings")
    return tuple(data)


def _string(data: Any) -> str:
    if not isinstance(data, str):
        raise ValueError("a string")
    return data


def _positive(data: Any) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or not 0 < data < 2**31:
        raise ValueError("a whole number from 1 to 2147483647")
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
    for key, value in table.items():
        if not isinstance(value, str):
            raise ValueError("a table of strings", key)
    return dict(table)


def _scalar_table(data: Any) -> Mapping[str, str]:
    table = _table(data)
    for key, value in table.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise ValueError("a table of strings and numbers", key)
        if not is_variable(key):
            raise ValueError(f"a table of variables of the environment, and none is named `{key}`", key)
    return {key: str(value) for key, value in table.items()}


def is_variable(name: str) -> bool:
    """Say whether a variable of the environment can have this name in a shell."""
    return name.isascii() and name.isidentifier()


def _folder(data: Any) -> str:
    """Give the name of a folder; whether a file lies there is seen where the settings are built."""
    name = _string(data)
    if not name.strip() or "\0" in name:
        raise ValueError("the name of a folder")
    return name


def _file(data: Any) -> str:
    """Give the name of a file; it need not be there before it is written."""
    name = _string(data)
    if not name.strip() or "\0" in name:
        raise ValueError("the name of a file")
    return name


def _codes_table(data: Any) -> Mapping[str, tuple[str, ...]]:
    table = _table(data)
    for key, value in table.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError("a table of lists of strings", key)
    return {key: tuple(value) for key, value in table.items()}


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
    "cache-dir": ("where results are kept between runs", _folder),
    "baseline": ("a baseline, whose findings are not told, as with --baseline", _file),
    "models": ("an array of tables that describe functions of your own code: docs/settings.md, at its end", _tables),
}
"""Each key: what it says, and its reader, which raises ValueError with what it wants."""


def _build(data: Mapping[str, Any], file: Path, lines: Mapping[str, int]) -> Settings:
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in KEYS:
            hint = meant(key.replace("_", "-"), KEYS)
            raise SettingsError(f"{place(file, lines, key)}: there is no setting `{key}`{hint}")
        try:
            values[key.replace("-", "_")] = KEYS[key][1](value)
        except ValueError as error:
            wanted, *part = error.args
            raise SettingsError(f"{place(file, lines, key, *part)}: `{key}` must be {wanted}") from None
    settings = Settings(**values, file=file, lines=lines)
    _check_folder(settings)
    return settings


def _check_folder(settings: Settings) -> None:
    """Refuse a cache folder that is a file, or lies in one; raises SettingsError."""
    if not settings.cache_dir or settings.base is None:
        return
    try:
        folder = settings.base / Path(settings.cache_dir).expanduser()
    except RuntimeError:  # the home folder of nobody
        raise SettingsError(
            f"{settings.where('cache-dir')}: `cache-dir` begins with a home folder that is none"
        ) from None
    nearest = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), None)
    if nearest is not None and not nearest.is_dir():
        raise SettingsError(f"{settings.where('cache-dir')}: `cache-dir` must be a folder, and `{nearest}` is a file")
