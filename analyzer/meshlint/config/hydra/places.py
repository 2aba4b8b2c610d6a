"""Where the folders of configs lie, in the checkout around a file."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

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
