"""AReaL's commands: `python3 train.py --config X.yaml a.b=c`, alone or behind `python3 -m areal.infra.launcher.local`.

The config is composed by Hydra from the file's folder, the dotlist on top (areal/api/cli_args.py:2890 at v1.0.4).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from meshlint.config.command import Command, Word
from meshlint.config.frameworks.areal import mesh
from meshlint.config.hydra.app import Application, Settings, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.hydra.items import Marking
from meshlint.config.hydra.program import Program, locate, options, program
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.value import State, Value
from meshlint.place import Span
from meshlint.sources.tree import Reader

NAME = "areal"
MARKING = Marking(NAME)
ENGINES = ("actor.backend", "model.backend", "allocation_mode")
"""Keys that give the mesh of the engine that trains, newest first."""

_OPTIONS = {"--config": "config"}
_TELLING = (
    "allocation_mode",
    "actor.backend",
    "rollout.backend",
    "scheduler.type",
    "cluster.n_nodes",
    "gconfig.n_samples",
)
_LAUNCHERS = ("areal.launcher.", "areal.infra.launcher.")


class Areal:
    """Reads `--config` and the dotlist over it."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim AReaL's launchers, and scripts that are given `--config` and a key that only AReaL has."""
        found = program(command)
        if found is None:
            return False
        if found.module.startswith(_LAUNCHERS):
            return True
        given, words = options(found.words, _OPTIONS)
        return "config" in given and any(_key(word) in _TELLING for word in words)

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launch of a command."""
        found = program(command)
        if found is None:
            return
        given, words = options(found.words, _OPTIONS)
        application = _application(given.get("config"), command, reader)
        environment = {**command.environment, **context.environment}
        merged = settings(application, words, reader, context, command.place, environment)
        yield launch_of(
            merged, _entry(found), command.identity, command.surface, command.place, reader, command.environment
        )


READER = Areal()


def _key(word: Word) -> str:
    text = word.text if word.text is not None else word.known
    return text.partition("=")[0].lstrip("+~")


def _entry(found: Program) -> str:
    """Give the training script: the program itself, or the one that a launcher is given."""
    if not found.module:
        return found.script
    return next((w.text for w in found.words if w.text is not None and w.text.endswith(".py")), found.module)


def _application(word: Word | None, command: Command, reader: Reader) -> Application:
    if word is None or word.text is None:
        reason = word.reason if word is not None else "it names no config"
        return Application((), None, reason or "the config's path is not known")
    path = locate(word.text, command, reader)
    if path is None:
        return Application((), None, f"the config {word.text} is not in reach")
    folder, name = posixpath.split(path)
    return Application((Folder(folder, MARKING),), name)


def launch_of(
    merged: Settings,
    entry: str,
    identity: str,
    surface: str,
    place: Span,
    reader: Reader,
    environment: Mapping[str, Value],
) -> Launch:
    """Make the launch of a merged config; its world is the product of the training engine's mesh."""
    return Launch(
        framework=NAME,
        entry=entry,
        surface=surface,
        identity=identity,
        place=place,
        writes=merged.writes,
        environment=environment,
        nodes=merged.value("cluster.n_nodes"),
        gpus_per_node=merged.value("cluster.n_gpus_per_node"),
        world=world(merged),
        reads=frozenset(reader.seen),
    )


def world(merged: Settings) -> Value | None:
    """Multiply the degrees of the training engine (areal/api/alloc_mode.py:148); None where it is no Megatron's."""
    for key in ENGINES:
        value = merged.value(key)
        if value is None or value.data is None:
            continue
        if value.is_unknown:
            return value
        try:
            degrees = mesh(value.data)
        except ValueError:
            return None
        ranks = 1
        for letter in "dtpc":
            ranks *= degrees.get(letter, 1)
        return Value(State.SET, ranks, value.origins)
    return None
