"""ROLL's commands: `python examples/start_rlvr_pipeline.py --config_path DIR --config_name NAME`.

The folder counts from the script's own (`hydra.initialize`, examples/start_rlvr_pipeline.py:22 at main of August
2026). There is no dotlist.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from meshlint.config.command import Command, Word
from meshlint.config.devices import ranks
from meshlint.config.hydra.app import Application, Settings, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.hydra.items import Marking
from meshlint.config.hydra.places import is_folder
from meshlint.config.hydra.program import locate, options, program
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.value import Value
from meshlint.place import Span
from meshlint.sources.tree import Reader

NAME = "roll"
MARKING = Marking(NAME)
TRAINED = ("actor_train", "sft_train", "student", "critic")
"""Workers that train, the first of which that is there has the world's ranks."""

_OPTIONS = {"--config_path": "path", "--config-path": "path", "--config_name": "name", "--config-name": "name"}


class Roll:
    """Reads the config that a pipeline's start script is given."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim `start_*_pipeline.py`."""
        found = program(command)
        return found is not None and found.name.startswith("start_") and found.name.endswith("_pipeline")

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launch of a command."""
        found = program(command)
        if found is None:
            return
        given, _ = options(found.words, _OPTIONS)
        application = _application(given, found.file, command, reader)
        environment = {**command.environment, **context.environment}
        yield launch_of(
            settings(application, (), reader, context, command.place, environment),
            found.name,
            command.identity,
            command.surface,
            command.place,
            reader,
            command.environment,
        )


READER = Roll()


def _application(given: Mapping[str, Word], script: str, command: Command, reader: Reader) -> Application:
    name = given.get("name")
    if name is None or name.text is None:
        reason = name.reason if name is not None else "it names no config"
        return Application((), None, reason or "the config's name is not known")
    primary = name.text.removesuffix(".yaml")
    folder = _folder(given.get("path"), primary, script, command, reader)
    if folder is None:
        return Application((), None, f"the config {primary} that it starts from is not in reach")
    return Application((Folder(folder, MARKING),), primary)


def _folder(word: Word | None, primary: str, script: str, command: Command, reader: Reader) -> str | None:
    """Find the folder: from the script's, else the launching file's own where `--config_path` cannot be known."""
    file = locate(script, command, reader)
    beside = posixpath.dirname(file) if file is not None else ""
    text = "config" if word is None else word.text
    wanted = [] if text is None else [posixpath.normpath(posixpath.join(beside, text))]
    if text is None or not is_folder(wanted[0], reader):
        wanted.append(posixpath.dirname(command.path))
    return next((folder for folder in wanted if reader.exists(posixpath.join(folder, f"{primary}.yaml"))), None)


def launch_of(
    merged: Settings,
    entry: str,
    identity: str,
    surface: str,
    place: Span,
    reader: Reader,
    environment: Mapping[str, Value],
) -> Launch:
    """Make the launch of a merged config; its world is that of the worker that trains."""
    gpus = merged.value("num_gpus_per_node")
    return Launch(
        framework=NAME,
        entry=entry,
        surface=surface,
        identity=identity,
        place=place,
        writes=merged.writes,
        environment={**_system_envs(merged), **environment},
        gpus_per_node=gpus,
        world=world(merged),
        reads=frozenset(reader.seen),
    )


def _system_envs(merged: Settings) -> dict[str, Value]:
    prefix = "system_envs."
    return {w.key[len(prefix) :]: w.value for w in merged.writes if w.key.startswith(prefix)}


def world(merged: Settings) -> Value | None:
    """Count the ranks of the worker that trains; None where no devices are named for one."""
    for worker in TRAINED:
        mapping = merged.value(f"{worker}.device_mapping")
        if mapping is not None and (mapping.is_unknown or mapping.data is not None):
            return ranks(mapping)
    return None
