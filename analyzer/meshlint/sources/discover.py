"""Finding files: what a person asked for, and all else of the tree around it.

In a checkout git names the files (tracked, and untracked ones that are not ignored); elsewhere a walk honours
`.gitignore` files. Links are never followed to folders, and git runs with hooks and monitors off.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from meshlint.records import dataclass
from meshlint.sources.git import Running, start_git

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm", ".sub")
"""Endings of shell scripts, those of batch systems among them."""
MAX_FILES = 500_000
"""Files listed in one tree; what lies beyond is not looked at."""
MAX_IGNORE_BYTES = 128 * 1024
"""A larger `.gitignore` is not a list that a person wrote."""

_PROJECT_MARKS = ("pyproject.toml", "setup.py", "meshlint.toml")
_SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache"}
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run looks at.

    `root` is the folder that paths are shown relative to, `roots` the folders that may be read. `files` are all files
    of the tree around the given paths, `asked` those to judge, `named` those among them that a person spelt out; all
    as shown, sorted. `closed` are folders that could not be listed, `missing` given paths that do not exist, `unused`
    the `.gitignore` files that could not be used in whole, each with the reason.
    """

    root: Path
    roots: tuple[Path, ...]
    files: tuple[str, ...]
    asked: tuple[str, ...]
    named: frozenset[str] = frozenset()
    closed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unused: tuple[tuple[str, str], ...] = ()
    code: tuple[str, ...] | None = None
    """Python files to look for faults of the program in; None for those among `asked`."""
    replaced: Mapping[str, str | None] = field(default_factory=dict)
    """Files to read as something else than they are, as in `Tree`."""
    readers: tuple[str, ...] | None = None
    """Files that could read a named one, where they are looked for already (see `meshlint.engine.readers`)."""
    loose: frozenset[str] | None = None
    """Files of which git keeps no plain track, so that it searches them only when asked for; None where not known."""


@dataclass(slots=True)
class Listing:
    """The files under one base folder, absolute, and the folders that could not be listed."""

    base: Path
    files: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    unused: list[tuple[str, str]] = field(default_factory=list)
    loose: list[str] | None = None


def repository(path: Path) -> Path | None:
    """Give the root of the checkout that holds a path, or None."""
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)


def project(path: Path) -> Path | None:
    """Give the nearest folder, from a path upward, that looks like the top of a project without a checkout."""
    for folder in (path, *path.parents):
        if folder == Path.home() or folder.parent == folder:
            return None
        if any((folder / mark).is_file() for mark in _PROJECT_MARKS):
            return folder
    return None


def discover(
    given: Sequence[str],
    cwd: Path,
    exclude: Iterable[str] = (),
    exclude_base: Path | None = None,
    begun: Callable[[Path], Running | None] | None = None,
) -> Scope:
    """Look at the given paths (the current folder where there is none).

    `exclude` are patterns as in a `.gitignore`, counted from `exclude_base`; they hold for given paths too. `begun`
    gives the listing of a checkout that git is at work on already.
    """
    cwd = cwd.resolve()
    paths, missing = _resolve(given or (".",), cwd)
    bases = _bases(paths)
    root = _root(bases, cwd)
    listings = [_list(base, paths, begun) for base in bases]
    kept = _excluder(list(exclude), exclude_base or root)
    absolute = sorted({f for listing in listings for f in listing.files if kept is None or kept(f)})
    asked, named = _asked(paths, absolute, kept or (lambda file: True))
    shown = _shower(root)
    loose = [listing.loose for listing in listings]
    return Scope(
        root=root,
        roots=tuple(dict.fromkeys((*bases, *(p if p.is_dir() else p.parent for p in paths)))),
        files=tuple(sorted({*shown(absolute), *shown(asked)})),
        asked=tuple(sorted({*shown(asked)})),
        named=frozenset(shown(named)),
        closed=tuple(sorted(shown(f for listing in listings for f in listing.closed))),
        missing=tuple(missing),
        unused=tuple(sorted((shown((f,))[0], why) for listing in listings for f, why in listing.unused)),
        loose=None if None in loose else frozenset(shown(f for files in loose for f in files or ())),
    )


def _resolve(given: Sequence[str], cwd: Path) -> tuple[list[Path], list[str]]:
    paths: list[Path] = []
    missing: list[str] = []
    for text in given:
        try:
            path = (cwd / text).resolve()
            found = os.path.lexists(path)
        except (OSError, RuntimeError, ValueError):
            found = False
        if found:
            paths.append(path)
        else:
            missing.append(text)
    return paths, missing


def _bases(paths: Iterable[Path]) -> list[Path]:
    """Give the top folder around each path: its checkout, its project, or itself."""
    bases: dict[Path, None] = {}
    for path in paths:
        folder = path if path.is_dir() else path.parent
        bases.setdefault(repository(folder) or project(folder) or folder)
    return list(bases)


def _root(bases: list[Path], cwd: Path) -> Path:
    if len(bases) == 1:
        base = bases[0]
        whole = (base / ".git").exists() or not base.is_relative_to(cwd)
        return base if whole else cwd
    if not bases or all(base.is_relative_to(cwd) for base in bases):
        return cwd
    return Path(os.path.commonpath(bases))


def _list(base: Path, paths: Iterable[Path], begun: Callable[[Path], Running | None] | None = None) -> Listing:
    """List everything under a base: by git, by a walk, or one folder only where a lone file was given."""
    running = begun(base) if begun is not None else None
    listed = _git_files(base, running) if (base / ".git").exists() else None
    if listed is not None:
        return listed
    lone = project(base) is None and not any(p.is_dir() and p.is_relative_to(base) for p in paths)
    return walk(base, deep=not lone)


def start_listing(base: Path) -> Running:
    """Start to list the files of a checkout, each with git's mark of how it keeps track of it."""
    return start_git(base, "ls-files", "-z", "-v", "--cached", "--others", "--exclude-standard")


def _git_files(base: Path, running: Running | None = None) -> Listing | None:
    listed = (running or start_listing(base)).finish()
    if listed is None:
        return None
    rows = [row for row in os.fsdecode(listed).split("\0") if row and row[-1] != "/"][:MAX_FILES]
    top = _top(base)
    return Listing(base, [top + row[2:] for row in rows], loose=[top + row[2:] for row in rows if row[0] != "H"])


def walk(base: Path, deep: bool = True) -> Listing:
    """List the files under a folder without git; links to folders are not followed."""
    listing = Listing(base)
    todo: list[tuple[str, tuple[_Ignore, ...]]] = [(str(base), ())]
    while todo and len(listing.files) < MAX_FILES:
        folder, ignores = todo.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda e: e.name)
        except OSError:
            listing.closed.append(folder)
            continue
        if any(e.name == ".gitignore" for e in entries):
            ignores = (*_ignores(folder, listing), *ignores)
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if _ignored(entry.path, is_folder, ignores):
                continue
            if not is_folder:
                if not (entry.is_symlink() and Path(entry.path).is_dir()):
                    listing.files.append(entry.path)
            elif deep and entry.name not in _SKIPPED_FOLDERS:
                todo.append((entry.path, ignores))
    return listing


@dataclass(frozen=True, slots=True)
class _Ignore:
    folder: str
    spec: GitIgnoreSpec


def _ignores(folder: str, listing: Listing) -> tuple[_Ignore, ...]:
    """Give the patterns of a folder's `.gitignore`; what of it cannot be used is noted."""
    from meshlint.sources.patterns import usable

    file = f"{folder}/.gitignore"
    try:
        spec, wrong = usable(_plain_lines(file))
    except (OSError, ValueError) as error:
        listing.unused.append((file, f"its patterns are not used: {getattr(error, 'strerror', None) or error}"))
        return ()
    if wrong:
        listing.unused.append((file, f"the pattern `{wrong[0][:80]}` is not used: git knows no such pattern"))
    return (_Ignore(folder, spec),)


def _plain_lines(file: str) -> list[str]:
    """Read a short plain file; raises OSError or ValueError for a link, a pipe, a device or a long one.

    git does not follow a `.gitignore` that is a link either.
    """
    status = os.lstat(file)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a plain file")
    if status.st_size > MAX_IGNORE_BYTES:
        raise ValueError(f"it has {status.st_size:,} bytes, and meshlint reads at most {MAX_IGNORE_BYTES:,}")
    return Path(file).read_text("utf-8", "replace").splitlines()


def _ignored(path: str, is_folder: bool, ignores: tuple[_Ignore, ...]) -> bool:
    for ignore in ignores:
        relative = path[len(ignore.folder) + 1 :] + ("/" if is_folder else "")
        decided = ignore.spec.check_file(relative).include
        if decided is not None:
            return decided
    return False


def _excluder(patterns: list[str], base: Path) -> Callable[[str], bool] | None:
    """Give a test that says of an absolute path whether it is kept; None where all are."""
    if not patterns:
        return None
    from meshlint.sources.patterns import spec_of

    spec = spec_of(patterns)
    top = _top(base)
    return lambda file: not (file.startswith(top) and spec.match_file(file[len(top) :].replace(os.sep, "/")))


def _asked(paths: Iterable[Path], absolute: list[str], kept: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    asked: list[str] = []
    named: list[str] = []
    for path in paths:
        if not path.is_dir():
            if kept(str(path)):
                named.append(str(path))
            continue
        top = _top(path)
        inside = [f for f in absolute if f.startswith(top)]
        asked += inside or [f for f in walk(path).files if kept(f)]  # a folder that git ignores, spelt out
    return [*asked, *named], named


def _shower(root: Path) -> Callable[[Iterable[str]], list[str]]:
    """Give a function from absolute paths to paths as shown."""
    top = _top(root)
    start = len(top)

    def shown(files: Iterable[str]) -> list[str]:
        cut = (file[start:] if file.startswith(top) else file for file in files)
        return list(cut) if os.sep == "/" else [file.replace(os.sep, "/") for file in cut]

    return shown


def _top(folder: Path) -> str:
    return str(folder).rstrip(os.sep) + os.sep
