"""Questions to git that are asked before all else, so that it works while this process loads what judges."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from meshlint.records import dataclass
from meshlint.sources.discover import repository, start_listing
from meshlint.sources.git import Running, start_git, unfiltered


@dataclass(slots=True)
class Begun:
    """What git is at work on for the checkout at `top`; each is taken once, and what nobody takes ends with `with`."""

    top: Path | None = None
    listing: Running | None = None
    diff: Running | None = None

    def take_listing(self, base: Path) -> Running | None:
        """Give the listing of a checkout, if it is the one that was begun."""
        if base != self.top:
            return None
        listing, self.listing = self.listing, None
        return listing

    def take_diff(self, top: Path, base: str) -> Running | None:
        """Give the diff since a revision, if it is the one that was begun."""
        if base != HEAD or top != self.top:
            return None
        diff, self.diff = self.diff, None
        return diff

    def __enter__(self) -> Begun:
        return self

    def __exit__(self, *_: object) -> None:
        """End what nobody asked for."""
        for running in (self.listing, self.diff):
            if running is not None:
                running.stop()


HEAD = "HEAD"
"""The revision that hooks compare with."""

AS_TEXT = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--full-index",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "--ignore-submodules",
    "-O/dev/null",  # else git reads a file that the checkout names
)


def begin(paths: Sequence[str], cwd: Path, base: str | None = None) -> Begun:
    """Begin to list the files around the first path and, for a change since HEAD, to make its diff."""
    path = Path(os.path.realpath(cwd / (paths[0] if paths else ".")))
    try:
        top = repository(path if path.is_dir() else path.parent)
    except (OSError, ValueError):  # which is told of when the files are looked for
        return Begun()
    if top is None:
        return Begun()
    return Begun(top, start_listing(top), start_diff(top, HEAD) if base == HEAD else None)


def start_diff(top: Path, commit: str) -> Running:
    """Start to make the diff from a commit to the files as they are."""
    plainly = unfiltered(top)
    if plainly is None:
        return Running(None)
    return start_git(top, *plainly, "-c", "core.quotePath=true", "diff", *AS_TEXT, commit, "--")
