"""What is installed near a launch: environments with packages, told by the names of their `*.dist-info` folders.

Looked at, nearest first: `.venv` and `venv` at the top of the tree, the active environment ($VIRTUAL_ENV), for
`check -- COMMAND` the environment of the program that the command names, and last meshlint's own, which counts only
where a library that trains is in it. Folders are listed, bounded in number; no interpreter is started, nothing is
imported. Files are read out of the packages in `PACKAGES` alone, and only where their distribution is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from meshlint.config.pins.tables import RELEASES, library_of
from meshlint.config.surface import Context
from meshlint.records import dataclass
from meshlint.sources.tree import Tree

MAX_ENTRIES = 20_000
"""Names of one folder of packages that are looked at."""
MAX_PYTHONS = 8
"""Folders `lib/python3.x` of one environment that are looked at."""
_TRAINING = frozenset({"megatron-core", "megatron-bridge", "verl", "nemo-rl", "nemo-toolkit", "ms-swift", "slime"})
PACKAGES: Mapping[str, tuple[str, str]] = {
    "megatron.bridge": ("megatron-bridge", "megatron"),
    "megatron.core": ("megatron-core", "megatron"),
    "nemo": ("nemo-toolkit", "nemo"),
    "slime": ("slime", "slime"),
    "verl": ("verl", "verl"),
}
"""Import names whose source is read: the distribution that brings each, and its folder among the packages."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder of packages: how it is called in messages, where it lies, the version of each distribution in it."""

    label: str
    packages: Path
    versions: Mapping[str, str] = field(default_factory=dict)

    def version(self, library: str) -> str | None:
        """Give the version of a library, or None."""
        return self.versions.get(library)


def environments(context: Context) -> tuple[Environment, ...]:
    """Give the environments that a launch of this context may run in, nearest first."""
    known = context.shared.get("installed")
    if not isinstance(known, tuple):
        named = context.shared.get("installed.prefixes", ())
        known = context.shared["installed"] = of_tree(context.tree, named if isinstance(named, tuple) else ())
    return known


def name_command(words: Sequence[str], environ: Mapping[str, str], folder: Path, context: Context) -> None:
    """Let the environment of a command's own program count: the first of its words that is an executable file."""
    context.shared["installed.prefixes"] = tuple(_prefixes(words, environ, folder))
    context.shared.pop("installed", None)


def of_tree(tree: Tree, named: Iterable[tuple[str, Path]] = ()) -> tuple[Environment, ...]:
    """Give the environments around a tree; `named` are further ones with their labels."""
    found: dict[Path, Environment] = {}
    for label, prefix in (*_near(tree), *_active(), *named):
        for packages in _package_folders(prefix, tree):
            found.setdefault(packages, Environment(label, packages, _listed(packages)))
    for packages in _package_folders(Path(sys.prefix), tree):
        own = Environment("the environment of meshlint", packages, _listed(packages))
        if packages not in found and _TRAINING & own.versions.keys():
            found[packages] = own
    return tuple(found.values())


def locate(dotted: str, context: Context) -> Path | None:
    """Find the installed module or package of a dotted name, and let its distribution be read; None without one."""
    package = _package(dotted)
    if package is None:
        return None
    distribution, folder = PACKAGES[package]
    for environment in environments(context):
        if distribution not in environment.versions:
            continue
        top = environment.packages / folder
        context.tree.admit(top)
        file = environment.packages.joinpath(*dotted.split("."))
        for path in (file.with_suffix(".py"), file / "__init__.py"):
            if context.tree.exists(path):
                return path
        if context.tree.is_folder(file):
            return file
    return None


def missing(distribution: str, context: Context) -> str:
    """Say in words why the source of a distribution is not in reach."""
    for environment in environments(context):
        if distribution in environment.versions:
            return f"{distribution} is installed in {environment.label} without this part of its source"
    return f"{distribution} is not installed here: give the environment ($VIRTUAL_ENV, .venv) or its checkout"


def _package(dotted: str) -> str | None:
    return next((p for p in PACKAGES if dotted == p or dotted.startswith(f"{p}.")), None)


def _near(tree: Tree) -> Iterator[tuple[str, Path]]:
    """Give `.venv` and `venv` at the top of the tree, and beside the paths that a person gave."""
    folders = dict.fromkeys((tree.root, *tree.roots))
    return ((tree.shown(folder / name), folder / name) for folder in folders for name in (".venv", "venv"))


def _active() -> Iterator[tuple[str, Path]]:
    prefix = os.environ.get("VIRTUAL_ENV", "")
    if prefix and Path(prefix).is_absolute():
        yield "$VIRTUAL_ENV", Path(prefix)


def _prefixes(words: Sequence[str], environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Path]]:
    from shutil import which  # here, since few launches name a program to look for

    for word in words:
        program = which(word, path=environ.get("PATH", "")) if "/" not in word else str(folder / word)
        if program is None or "=" in word or not os.access(program, os.X_OK) or not Path(program).is_file():
            continue
        prefix = Path(program).parent.parent
        yield f"the environment of `{word}`", prefix
        if prefix == Path("/usr"):  # Debian's python3 looks in /usr/local first
            yield f"the environment of `{word}`", Path("/usr/local")
        return


def _package_folders(prefix: Path, tree: Tree) -> Iterator[Path]:
    """Give the folders of packages of an environment."""
    tree.note(prefix)
    library = prefix / "lib"
    tree.note(library)
    pythons = [name for name in _names(library) if name.startswith("python3")][-MAX_PYTHONS:]
    places = [library / python / kind for python in reversed(pythons) for kind in ("site-packages", "dist-packages")]
    for place in (*places, prefix / "Lib" / "site-packages"):
        if place.is_dir():
            tree.note(place)
            yield place


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(entry.name for entry, _ in zip(found, range(MAX_ENTRIES), strict=False))
    except OSError:
        return []


def _listed(packages: Path) -> dict[str, str]:
    """Give the version of each distribution that matters, from the names of `NAME-VERSION.dist-info` folders."""
    found: dict[str, str] = {}
    for name in _names(packages):
        stem, _, ending = name.rpartition(".")
        distribution, dash, version = stem.partition("-")
        library = library_of(distribution)
        if ending == "dist-info" and dash and (library in RELEASES or library in _TRAINING):
            found[library] = version.partition("+")[0]
    return found
