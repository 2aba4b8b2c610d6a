"""verl's Hydra YAML that stands alone: a person's own trainer config, or the package's where nothing launches it.

Files that others name in their defaults lists, and files that a script names, give way to those, unless a person names
them. `_generated_*.yaml` repeat others and are left out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from meshlint.config.commands.verl import MARKS, NAME, STANDARD, finder, folder_of, implied, is_own, pool
from meshlint.config.hydra.app import Application, settings
from meshlint.config.hydra.documents import Document, load
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.place import Span
from meshlint.sources.discover import SCRIPTS
from meshlint.sources.tree import Unreadable

_ENDINGS = (".yaml", ".yml")
_TRAINERS = ("main_ppo", "fully_async_main", "sft_trainer")
MAXSCRIPTS = 5_000


class VerlYaml:
    """Composes a primary config and reads the launch that it is."""

    name = "verl-yaml"

    def claims(self, path: str) -> bool:
        """Claim YAML files, but none that verl generates."""
        return path.endswith(_ENDINGS) and not posixpath.basename(path).startswith("_generated_")

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Give the primary configs that a person names, or that no script and no other config uses."""
        mine = [path for path in paths if _primary(path, context) is not None]
        if not mine:
            return []
        return [path for path in mine if path in context.named or _alone(path, context)]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the one launch of a file."""
        reader = context.reader()
        place = Span(path, 1)
        application = Application((folder_of(posixpath.dirname(path)),), _stem(path), "", STANDARD, finder(context))
        merged = settings(application, (), reader, context, place, context.environment)
        nodes, gpus, world = pool(merged)
        yield Launch(
            framework=NAME,
            entry=_stem(path),
            surface=self.name,
            identity=path,
            place=place,
            writes=(*implied(merged), *merged.writes),
            nodes=nodes,
            gpus_per_node=gpus,
            world=world,
            reads=frozenset({*reader.seen, path}),
        )


SURFACE = VerlYaml()


def _alone(path: str, context: Context) -> bool:
    """Say whether no other config and no script uses a config."""
    return _stem(path) not in _used(context) and not _launched(path, _scripts(context))


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _primary(path: str, context: Context) -> Document | None:
    """Read a file that is a trainer's primary config; None for anything else."""
    try:
        text = f"\n{context.tree.read(path).text}"
        if "\nactor_rollout_ref:" not in text and not ("\ndefaults:" in text and _names_standard(text)):
            return None
        document = load(path, context.reader(), context, MARKS[is_own(path)])
    except Unreadable:
        return None
    listed = [name for entry in document.defaults or () for name in entry.names or ()]
    keys = document.body.entries
    if "actor_rollout_ref" in keys and ("defaults" in text or "trainer" in keys):
        return document
    return document if any(name in STANDARD for name in listed) else None


def _names_standard(text: str) -> bool:
    return any(name in text for name in STANDARD)


def _used(context: Context) -> frozenset[str]:
    """Give the names that primary configs of the tree list among their defaults."""
    used = context.shared.get("verl used")
    if isinstance(used, frozenset):
        return used
    names = {
        posixpath.basename(name)
        for path in context.files
        if path.endswith(_ENDINGS) and (document := _primary(path, context)) is not None
        for entry in document.defaults or ()
        if entry.group is None
        for name in entry.names or ()
    }
    found = frozenset(names)
    context.shared["verl used"] = found
    return found


def _scripts(context: Context) -> list[str]:
    """Give the texts of the tree's shell scripts that start a trainer of verl."""
    texts = context.shared.get("verl scripts")
    if isinstance(texts, list):
        return texts
    reader = context.reader()
    paths = [path for path in context.files if path.endswith(SCRIPTS)][:MAXSCRIPTS]
    found = [text.text for text in reader.readable(paths) if "verl" in text.text or "config-name" in text.text]
    context.shared["verl scripts"] = found
    return found


def _launched(path: str, scripts: list[str]) -> bool:
    """Say whether a script names the config, or starts the trainer whose default it is."""
    stem = _stem(path)
    if any(stem in text for text in scripts):
        return True
    return is_own(path) and any(trainer in text for text in scripts for trainer in _TRAINERS)
