"""Where the folders of configs lie: in the checkout around a file, else in an installed package's own data."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path

from meshlint.sources.tree import Reader

MAX_UP = 30


def ancestors(folder: str) -> Iterator[str]:
    """Give a folder and those around it, up to the top of the tree."""
    for _ in range(MAX_UP):
        yield folder
        if folder in ("", "/", "."):
            return
        folder = posixpath.dirname(folder)


def is_folder(path: str, reader: Reader) -> bool:
    """Say whether a readable folder is there."""
    return reader.tree.is_folder(path or ".")


def around(path: str, start: str, reader: Reader) -> str | None:
    """Find a folder by its relative path from `start` or any folder around it; None where it is nowhere."""
    for base in ancestors(start):
        folder = posixpath.normpath(posixpath.join(base, path))
        if is_folder(folder, reader):
            return folder
    return None


def installed(package: str, reader: Reader) -> Path | None:
    """Find an installed distribution's folder, without importing it, and let it be read; None where it is not there."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        folder = Path(str(distribution(package).locate_file(package.replace("-", "_"))))
    except (PackageNotFoundError, ValueError):
        return None
    if not folder.is_dir():
        return None
    reader.tree.admit(folder)
    return folder.resolve()
