"""Files of a checkout that nobody writes there: vendored from elsewhere, or generated.

What git's attributes say wins (`linguist-vendored`, `linguist-generated`, as GitHub reads them); else folders of usual
names count, and a note at the top of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from meshlint.sources.git import run_git

FOLDERS = frozenset(
    ("third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendored", "_vendor", "node_modules")
)
ATTRIBUTES = ("linguist-vendored", "linguist-generated")
_HEAD = 10
"""Lines in which a note at the top stands."""
_ASKED = 1_000
"""Files that git is asked about at most; of others, folders and notes decide."""


def foreign(root: Path, sources: Mapping[str, str], paths: Iterable[str]) -> frozenset[str]:
    """Give those of `paths`, relative to the checkout's folder `root`, that nobody writes there.

    `sources` are the texts of files, by path, where they are known.
    """
    asked = sorted(paths)
    said = _said(root, asked[:_ASKED])
    return frozenset(path for path in asked if said.get(path, _looks(path, sources.get(path, ""))))


def _looks(path: str, text: str) -> bool:
    if FOLDERS & set(path.split("/")[:-1]):
        return True
    head = "\n".join(text.split("\n", _HEAD)[:_HEAD]).casefold()
    return "@generated" in head or ("generated" in head and "do not edit" in head)


def _said(root: Path, paths: list[str]) -> dict[str, bool]:
    """Give what git's attributes say of each file that they speak of; nothing where git cannot be asked."""
    if not paths:
        return {}
    out = run_git(root, "check-attr", "-z", *ATTRIBUTES, "--", *paths)
    fields = (out or b"").decode("utf-8", "surrogateescape").split("\0")
    said: dict[str, bool] = {}
    for path, value in zip(fields[::3], fields[2::3], strict=False):
        if value != "unspecified":
            said[path] = said.get(path, False) or value not in ("unset", "false")
    return said
