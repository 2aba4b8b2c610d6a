"""AReaL's commands: `python3 train.py --config X.yaml a.b=c`, alone or behind `python3 -m areal.infra.launcher.local`.

The config is composed by Hydra from the file's folder, the dotlist on top (areal/api/cli_args.py:2890 at v1.0.4).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace

from meshlint.config.allocation import TRAINING, allocations
from meshlint.config.command import Command, Word
from meshlint.config.hydra.app import Application, Settings, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.hydra.items import Marking
from meshlint.config.hydra.program import Program, locate, options, program
from meshlint.config.launch import Launch, Write
from meshlint.config.surface import Context
from meshlint.config.value import State, Value, unknown
from meshlint.place import Span
from meshlint.sources.tree import Reader

NAME = "areal"
MARKING = Marking(NAME)
ENGINES = ("actor.backend", "model.backend")
"""Keys that give the mesh of the engine that trains."""

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
    engines = allocated(merged)
    writes = (*merged.writes, *(Write(key, value) for key, value in engines.items()))
    return Launch(
        framework=NAME,
        entry=entry,
        surface=surface,
        identity=identity,
        place=place,
        writes=writes,
        environment=environment,
        nodes=merged.value("cluster.n_nodes"),
        gpus_per_node=merged.value("cluster.n_gpus_per_node"),
        world=world(engines, merged),
        reads=frozenset(reader.seen),
    )


def allocated(merged: Settings) -> dict[str, Value]:
    """Give each training engine of an `allocation_mode` as the `backend` of its section, where that has no mesh.

    A section with a bare `backend: megatron` (v0.3.4) takes the mesh of the engine that has no name.
    """
    mode = merged.value("allocation_mode")
    if mode is None or mode.is_unknown or not isinstance(mode.data, str):
        return {}
    try:
        engines = [engine for engine in allocations(mode.data) if engine.trains]
    except ValueError as problem:
        return {f"{_trained(merged)}.backend": unknown(f"the allocation cannot be read: {problem}", *mode.origins)}
    found: dict[str, Value] = {}
    for engine in engines:
        found[f"{engine.name or _trained(merged)}.backend"] = mode.with_data(engine.word)
        if not engine.name:
            bare = {w.key: w.value.data for w in merged.writes if w.key.endswith(".backend")}
            words = {key: replace(engine, backend=str(data)).word for key, data in bare.items() if data in TRAINING}
            found |= {key: mode.with_data(word) for key, word in words.items()}
    return {key: value for key, value in found.items() if not _has_mesh(merged.value(key))}


def _has_mesh(value: Value | None) -> bool:
    return value is not None and ":" in str(value.data)


def _trained(merged: Settings) -> str:
    """Name the section of the engine that trains: `actor` in reinforcement learning, `model` in fine-tuning."""
    tops = {write.key.partition(".")[0] for write in merged.writes}
    return "actor" if "actor" in tops or "model" not in tops else "model"


def world(engines: Mapping[str, Value], merged: Settings) -> Value | None:
    """Multiply the degrees of the engine that trains (areal/api/alloc_mode.py:148 at v1.0.4); None without one."""
    for key in ENGINES:
        value = engines.get(key) or merged.value(key)
        if value is None or (value.data is None and not value.is_unknown):
            continue
        if value.is_unknown:
            return value
        try:
            ranks = sum(engine.ranks for engine in allocations(str(value.data)))
        except ValueError as problem:
            return unknown(f"the mesh cannot be read: {problem}", *value.origins)
        return Value(State.SET, ranks, value.origins)
    return None
