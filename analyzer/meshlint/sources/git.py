"""Asking git about a checkout: reading commands only, with everything off by which a checkout could run code."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from meshlint.records import dataclass

if TYPE_CHECKING:
    from subprocess import Popen

TIMEOUT_S = 20
_READING = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


@dataclass(slots=True)
class Running:
    """A command of git at work beside this process."""

    process: Popen[bytes] | None

    def finish(self, none: int = 0) -> bytes | None:
        """Wait for what it says; None where git is absent, refuses or takes too long.

        `none` is a further exit status that is no failure: that of a search that finds nothing.
        """
        if self.process is None:
            return None
        from subprocess import TimeoutExpired

        process, self.process = self.process, None
        with process:
            try:
                out, _ = process.communicate(timeout=TIMEOUT_S)
            except TimeoutExpired:
                process.kill()
                return None
            except BaseException:
                process.kill()
                raise
        return out if process.returncode in (0, none) else None

    def stop(self) -> None:
        """End it, where nobody waits for it any more."""
        process, self.process = self.process, None
        if process is not None:
            with process:
                process.kill()


def run_git(root: Path, *arguments: str, none: int = 0) -> bytes | None:
    """Run a reading git command in `root`; None where git is absent, refuses or takes too long."""
    return start_git(root, *arguments).finish(none)


def start_git(root: Path, *arguments: str) -> Running:
    """Start a reading git command in `root`.

    Variables of git are left behind: inside a hook they name the hook's own index and folder.
    """
    from subprocess import DEVNULL, PIPE, Popen  # here, since some runs ask git nothing

    if not all(_is_plain(root / name) for name in _READ_BY_GIT):
        return Running(None)
    here = [f"--work-tree={root}"] if (root / ".git").exists() else []  # `core.worktree` may name any folder
    command = [*_READING, "-C", str(root), *here, *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        return Running(Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=environment))
    except OSError:
        return Running(None)


def unfiltered(root: Path) -> tuple[str, ...] | None:
    """Give the options under which git compares files with none of the programs that the checkout itself configures.

    To compare a file with a commit, git runs the filters that `.git/config` names for it. None where they cannot be
    switched off, or where git cannot tell.
    """
    listed = run_git(root, "config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.", none=1)
    if listed is None:
        return None
    words = [os.fsdecode(word) for word in listed.split(b"\0")]
    drivers = {name.rpartition(".")[0] for scope, name in zip(words[::2], words[1::2], strict=False) if scope in _OWN}
    if any("=" in driver for driver in drivers):
        return None
    settings = (f"{driver}.{key}" for driver in sorted(drivers) for key in ("clean=", "process=", "required=false"))
    return tuple(part for setting in settings for part in ("-c", setting))


_OWN = ("local", "worktree")
"""Scopes of settings that a checkout brings along."""

_OF_GIT = (
    "config", "config.worktree", "HEAD", "index", "commondir", "packed-refs", "shallow", "info/exclude",
    "info/attributes", "info/grafts", "objects/info/alternates",
)  # fmt: skip
_READ_BY_GIT = (*(f".git/{name}" for name in _OF_GIT), ".gitignore", ".gitattributes", ".gitmodules")
"""What git opens before anything else, and waits for where it is a pipe."""


def _is_plain(file: Path) -> bool:
    """Say whether a file is a plain one, or not there."""
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except (OSError, ValueError):
        return True


def blob(root: Path, name: str, most: int) -> bytes | None:
    """Give the content that git calls `name`, a whole name or the beginning of one; None where it is longer."""
    if not 4 <= len(name) <= 64 or name.strip("0123456789abcdef"):
        return None
    size = run_git(root, "cat-file", "-s", name)
    if size is None or not size.strip().isdigit() or int(size) > most:
        return None
    return run_git(root, "cat-file", "blob", name)


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
