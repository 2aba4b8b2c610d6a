"""The two sides of a comparison: a path as it is, or as it was at a revision of its checkout (`REV:PATH`)."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from meshlint.engine.options import Options, UsageError
from meshlint.engine.run import scope_of
from meshlint.records import dataclass
from meshlint.sources.discover import Scope, repository
from meshlint.sources.revision import Replaced, Revision, revision
from meshlint.sources.tree import Tree


@dataclass(frozen=True, slots=True)
class Side:
    """One side: how it was given, what it looks at, and the submodules of a revision."""

    given: str
    path: str
    scope: Scope
    modules: dict[str, str] | None = None


def side(text: str, options: Options) -> Side:
    """Read a side; raises UsageError for a path or a revision that is not there."""
    word, colon, path = text.partition(":")
    if os.path.lexists(options.cwd / text) or not colon:
        return Side(text, text, scope_of((text,), options))
    return _at_revision(text, word, path, options)


def _at_revision(text: str, word: str, path: str, options: Options) -> Side:
    folder = _existing(options.cwd / path)
    top = repository(folder)
    if top is None:
        raise UsageError(f"`{text}`: `{path}` lies in no git checkout, so it has no revisions")
    held = revision(top, word)
    if held is None:
        raise UsageError(f"`{text}`: there is no revision `{word}` in the checkout `{top.name}` that git can read")
    base = scope_of((str(top),), options)
    tree = Tree(base.root, base.roots)

    def shown(path: str) -> str:
        return tree.shown(top / path)

    name, asked = _asked(held, path, top, options)
    if not asked:
        raise UsageError(f"there is no file or folder `{path}` at `{word}`")
    if name in held.entries and held.text(name) is None:
        raise UsageError(f"`{path}` cannot be read at `{word}`: git has no text of it here, or it is too long")
    was = {shown(name) for name in held.files}
    outside = {name for name in base.files if not _inside(name, top, tree)}
    kept = (was & set(base.files)) | {name for name in was if not os.path.lexists(base.root / name)} | outside
    named = frozenset({shown(name)}) if name in held.entries else frozenset()
    return Side(
        text,
        path,
        replace(
            base,
            files=tuple(sorted(kept)),
            asked=tuple(sorted(shown(name) for name in asked)),
            named=named,
            replaced=Replaced(held, shown, frozenset(set(base.files) - was - outside)),
        ),
        dict(held.modules),
    )


def as_it_is(path: str, cwd: Path) -> str:
    """Give the path of what a revision has at `path`, as it is now: from the current folder, else from the top."""
    top = None if os.path.lexists(cwd / path) else repository(cwd)
    if top is None or not os.path.lexists(top / path):
        return path
    return os.path.relpath(top / path, cwd)


def _existing(path: Path) -> Path:
    """Give the nearest folder of a path that is there now; the path itself may only be in the revision."""
    real = Path(os.path.realpath(path.parent)) / path.name
    return next(folder for folder in (real, *real.parents) if folder.is_dir() and not folder.is_symlink())


def _inside(name: str, top: Path, tree: Tree) -> bool:
    """Say whether a shown path lies in the checkout."""
    return (tree.root / name).is_relative_to(top)


def _asked(held: Revision, path: str, top: Path, options: Options) -> tuple[str, list[str]]:
    """Give a path in the revision, and the files under it: it counts from the current folder, else from the top."""
    for start in (options.cwd, top):
        real = Path(os.path.normpath(os.path.join(os.path.realpath(start), path)))  # noqa: PTH118 - the path may be gone
        if not real.is_relative_to(top):
            continue
        name = held.followed(real.relative_to(top).as_posix())
        if name in held.entries:
            return name, [name]
        under = [one for one in held.files if name == "." or one.startswith(f"{name}/")]
        if under:
            return name, under
    return "", []
