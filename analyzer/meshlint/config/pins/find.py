"""Finding the pins of a launch: upward from its folder to the root, the nearest folder that fixes a library wins.

Within a folder the order is: the library's own checkout, a lock file, requirements, a Dockerfile, a submodule's
commit. Several pins of the winning kind all count: `versions.resolve` intersects them, or unites them where they
contradict each other (two images built from one tree).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import PurePosixPath

from meshlint.config.launch import Pin
from meshlint.config.pins import readers
from meshlint.config.pins.files import CHECKOUTS, MODULES, VERSION_FILES, folder_of, kind_of, owner
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, written
from meshlint.place import Span
from meshlint.sources.git import gitlinks
from meshlint.sources.tree import Text, Unreadable

SUBMODULES = {"Megatron-LM": "megatron-core", "Megatron-Bridge": "megatron-bridge", "verl": "verl"}
"""The library of a submodule by the start of its folder's name (`Megatron-LM-250624`)."""
MAX_PINS = 200
"""Pins of one file; one that a person or a lock program wrote names each library a few times."""

Level = tuple[tuple[Pin, ...], ...]
"""A folder's pins, one tuple for each kind of source, nearest kind first."""


def find(path: str, context: Context) -> Mapping[str, tuple[Pin, ...]]:
    """Give the pins in force for a launch at `path`, by library."""
    found: dict[str, tuple[Pin, ...]] = {}
    for folder in _upward(path):
        for kind in _level(folder, context):
            of_kind: dict[str, list[Pin]] = {}
            for pin in kind:
                of_kind.setdefault(pin.library, []).append(pin)
            for library, pins in of_kind.items():
                found.setdefault(library, tuple(pins))
    return found


def moved(paths: Iterable[str], before: Context, after: Context) -> frozenset[str]:
    """Give the folders that changed files pin something for, and whose pins are others after the change."""
    folders = {folder for folder in map(folder_of, paths) if folder is not None}
    return frozenset(folder for folder in folders if _specifiers(folder, before) != _specifiers(folder, after))


def _specifiers(folder: str, context: Context) -> list[list[tuple[str, str]]]:
    return [[(pin.library, pin.specifier) for pin in kind] for kind in _level(folder, context)]


def _upward(path: str) -> Iterator[str]:
    if path.startswith("/"):
        return iter(())
    return (str(parent) if str(parent) != "." else "" for parent in PurePosixPath(path).parents)


def _level(folder: str, context: Context) -> Level:
    levels = context.shared.setdefault("pins.levels", {})
    assert isinstance(levels, dict)
    if folder not in levels:
        levels[folder] = _read_level(folder, context)
    level: Level = levels[folder]
    return level


def _read_level(folder: str, context: Context) -> Level:
    files = _pinning_files(context).get(folder, ())
    return (
        tuple(_checkouts(folder, context)),
        tuple(_read(files, "uv.lock", readers.uv_lock, context)),
        tuple(_read(files, "requirements", readers.requirements_txt, context))
        + tuple(_read(files, "pyproject", readers.pyproject, context))
        + tuple(_read(files, "manifest", readers.manifest, context)),
        tuple(_read(files, "docker", readers.dockerfile, context)),
        tuple(_submodules(folder, context)),
    )


def _pinning_files(context: Context) -> Mapping[str, tuple[tuple[str, str], ...]]:
    known = context.shared.get("pins.files")
    if known is None:
        by_folder: dict[str, list[tuple[str, str]]] = {}
        for path in context.files:
            kind = kind_of(path)
            if kind:
                by_folder.setdefault(owner(path), []).append((kind, path))
        known = context.shared["pins.files"] = {k: tuple(sorted(v)) for k, v in by_folder.items()}
    assert isinstance(known, dict)
    return known


def _read(
    files: tuple[tuple[str, str], ...], kind: str, reader: Callable[[Text], Iterator[Pin]], context: Context
) -> Iterator[Pin]:
    for its_kind, path in files:
        if its_kind != kind:
            continue
        try:
            pins = list(islice(reader(context.tree.read(path)), MAX_PINS + 1))
        except Unreadable:
            continue
        if len(pins) > MAX_PINS:
            context.problem(
                pins[-1].value.span or Span(path, 1),
                f"meshlint reads the first {MAX_PINS} versions that one file pins",
                bound=True,
            )
        yield from pins[:MAX_PINS]


def _checkouts(folder: str, context: Context) -> Iterator[Pin]:
    for places, reader in (
        (CHECKOUTS, readers.package_info),
        (VERSION_FILES, readers.version_file),
        (MODULES, readers.version_module),
    ):
        for library, place in places:
            if not _stands(folder, place, context):
                continue
            try:
                yield from reader(library, context.tree.read(f"{folder}/{place}" if folder else place))
            except Unreadable:
                continue


def _stands(folder: str, place: str, context: Context) -> bool:
    """Say whether a version file is there; below the root only listed files are looked at, for speed.

    At the root it can lie in a submodule, whose files no listing of the checkout names.
    """
    if not folder:
        return context.tree.exists(place)
    listed = context.shared.get("pins.listed")
    if not isinstance(listed, frozenset):
        listed = context.shared["pins.listed"] = frozenset(context.files)
    return f"{folder}/{place}" in listed


def _submodules(folder: str, context: Context) -> Iterator[Pin]:
    if folder or not context.tree.exists(".gitmodules"):
        return
    given = context.shared.get("pins.gitlinks")  # those of a revision
    links = given if isinstance(given, dict) else gitlinks(context.tree.root)
    for path, commit in sorted(links.items()):
        name = PurePosixPath(path).name.removeprefix("PAI-")
        library = next((lib for start, lib in SUBMODULES.items() if name.startswith(start)), None)
        specifier = readers.specifier_of(commit, library) if library is not None else None
        if library is None or specifier is None:
            continue
        origin = Origin(Kind.WRITTEN, commit, Span(".gitmodules", 1), "pin", note=f"submodule {path} at {commit[:12]}")
        yield Pin(library, specifier, written(specifier, origin))
