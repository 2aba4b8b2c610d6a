"""Trees of Python files for the tests of the evaluator, and what it makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from textwrap import dedent

from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.value import Value
from meshlint.sources.tree import Tree


def context_of(root: Path, files: Mapping[str, str], environment: Mapping[str, Value] | None = None) -> Context:
    """Write files under a folder and give the context over them."""
    root = root.resolve()
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return over(root, environment)


def over(root: Path, environment: Mapping[str, Value] | None = None) -> Context:
    """Give the context over every file of a folder."""
    root = root.resolve()
    found = (p for p in root.rglob("*") if p.is_file() and ".git" not in p.relative_to(root).parts)
    return Context(Tree(root, (root,)), tuple(sorted(p.relative_to(root).as_posix() for p in found)), environment or {})


def launches(context: Context, surface: str) -> list[Launch]:
    """Give the launches that a surface finds in all files."""
    reader = import_module(f"meshlint.config.surfaces.{surface}").SURFACE
    claimed = [path for path in context.files if reader.claims(path)]
    return [launch for path in reader.entries(claimed, context) for launch in reader.launches(path, context)]


def data(launch: Launch, key: str) -> object:
    """Give a known key's data; `?` where it is unknown and `-` where nobody writes it."""
    value = launch.find(key)
    if value is None:
        return "-"
    return "?" if value.is_unknown else value.data


def line(launch: Launch, key: str) -> int:
    """Give the line of the place to edit."""
    value = launch.find(key)
    assert value is not None, key
    assert value.span is not None, key
    return value.span.line


def named(found: list[Launch], function: str) -> Launch:
    """Give the one launch of a function."""
    (launch,) = [launch for launch in found if launch.identity.endswith(f"::{function}")]
    return launch
