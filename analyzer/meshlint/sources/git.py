"""Asking git about a checkout: reading commands only, with everything off by which a checkout could run code."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

TIMEOUT_S = 20
_READING = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def run_git(root: Path, *arguments: str, none: int = 0) -> bytes | None:
    """Run a reading git command in `root`; None where git is absent, refuses or takes too long.

    `none` is a further exit status that is no failure: that of a search that finds nothing. Variables of git are left
    behind: inside a hook they name the hook's own index and folder.
    """
    import subprocess  # here, since most runs on one file ask git nothing

    if not all(_is_plain(root / name) for name in _READ_BY_GIT):
        return None
    command = [*_READING, "-C", str(root), *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode in (0, none) else None


_READ_BY_GIT = (".git/config", ".git/HEAD", ".git/index", ".git/info/exclude", ".gitignore", ".gitmodules")
"""What git opens before anything else, and waits for where it is a pipe."""


def _is_plain(file: Path) -> bool:
    """Say whether a file is a plain one, or not there."""
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except (OSError, ValueError):
        return True


def gitlinks(root: Path) -> Mapping[str, str]:
    """Give the commit of every submodule by its path from `root`; empty outside a checkout."""
    if not (root / ".gitmodules").is_file():
        return {}
    listed = run_git(root, "ls-files", "--stage", "-z")
    links: dict[str, str] = {}
    for entry in (listed or b"").split(b"\0"):
        meta, _, path = entry.partition(b"\t")
        if meta.startswith(b"160000 "):
            links[os.fsdecode(path)] = meta.split()[1].decode("ascii", "replace")
    return links
