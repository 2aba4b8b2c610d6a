"""Small trees of YAML files, composed by us and by the real hydra-core, for the tests of this folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from meshlint.config.command import Command, Word
from meshlint.config.hydra.app import Application, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.hydra.items import Marking
from meshlint.config.launch import Write
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, Value
from meshlint.place import Span
from meshlint.sources.tree import Tree

PLACE = Span("run.sh", 9)
MISSING = "<missing>"


def plant(root: Path, files: Mapping[str, str]) -> Context:
    """Write files below a folder and give the context of a run over them."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return Context(Tree(root, (root.resolve(),)), tuple(sorted(files)))


def words(texts: Sequence[str], path: str = "run.sh") -> tuple[Word, ...]:
    """Make words of a command, the n-th on line n."""
    return tuple(Word(t, (Origin(Kind.WRITTEN, t, Span(path, n)),)) for n, t in enumerate(texts, 1))


def command(texts: Sequence[str], path: str = "run.sh", **more: Any) -> Command:
    """Make a command whose words stand on lines 1, 2, ... of a script."""
    return Command(words(texts, path), path, "command 1", Span(path, 1), **more)


def composed(
    context: Context,
    primary: str,
    texts: Sequence[str] = (),
    folder: str = "",
    environment: Mapping[str, Value] | None = None,
) -> tuple[Write, ...]:
    """Compose a primary config of a folder with a dotlist."""
    application = Application((Folder(folder, Marking("test")),), primary)
    return settings(application, words(texts), context.reader(), context, PLACE, environment or {}).writes


def data(writes: Sequence[Write]) -> dict[str, object]:
    """Give the value in force of every key; unknown ones by their reason."""
    return {w.key: f"? {w.value.reason}" if w.value.is_unknown else w.value.data for w in writes}


def lines(writes: Sequence[Write], key: str) -> list[str]:
    """Give the places of the value in force, the one to edit first, as `file:line`."""
    value = next(w.value for w in reversed(writes) if w.key == key)
    return [f"{o.span.path}:{o.span.line}" for o in value.origins if o.span is not None]


def real(root: Path, primary: str, texts: Sequence[str] = ()) -> dict[str, object]:
    """Give what the real hydra-core composes, flat; keys that cannot be resolved are left out."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with initialize_config_dir(str(root), version_base=None):
            config = compose(primary, overrides=list(texts))
    OmegaConf.set_struct(config, False)
    return dict(flat(config))


REACH = 12
"""Dots in the longest key that `flat` gives; what lies deeper has no reference to be compared with."""


def flat(config: Any, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Give every resolvable key of an OmegaConf container in our form: lists of scalars whole, `???` marked."""
    from omegaconf import OmegaConf

    if prefix.count(".") > REACH:
        return  # a section that holds a reference to itself goes on for ever
    for key in config if OmegaConf.is_dict(config) else range(len(config)):
        name = f"{prefix}{key}"
        try:
            value = MISSING if OmegaConf.is_missing(config, key) else config[key]
        except Exception:
            continue
        if OmegaConf.is_dict(value) or isinstance(value, dict):
            yield from flat(OmegaConf.create(value), f"{name}.") if isinstance(value, dict) else flat(value, f"{name}.")
        elif OmegaConf.is_list(value):
            yield from _listed(value, name)
        else:
            yield name, value


def _listed(value: Any, name: str) -> Iterator[tuple[str, object]]:
    from omegaconf import OmegaConf

    try:
        items = OmegaConf.to_container(value, resolve=True)
    except Exception:
        return
    if any(isinstance(i, dict) for i in items):
        yield from flat(value, f"{name}.")
    else:
        yield name, tuples(items)


def tuples(items: Any) -> object:
    """Turn nested lists into nested tuples."""
    return tuple(tuples(i) for i in items) if isinstance(items, list) else items
