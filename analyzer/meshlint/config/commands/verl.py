"""verl's commands: `python -m verl.trainer.main_ppo a.b=c +x.y=z`, its relatives, and the recipes built on them.

The base YAML comes from the checkout that holds the script, else from an installed verl; with neither, the defaults
table of the framework counts. Sources count from verl v0.7.1 unless they say otherwise.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from meshlint.config.command import Command, Word
from meshlint.config.hydra.app import Application, Settings, product, settings
from meshlint.config.hydra.compose import Folder
from meshlint.config.hydra.items import Marking
from meshlint.config.hydra.places import around, is_folder
from meshlint.config.hydra.program import Program, hydra_main, locate, options, program
from meshlint.config.installed import locate as installed
from meshlint.config.launch import Launch, Write
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, State, Value, default
from meshlint.records import dataclass
from meshlint.sources.tree import Reader

NAME = "verl"
WRITTEN = Marking(NAME)
OWN = Marking(NAME, default_of="verl")
MARKS = {True: OWN, False: WRITTEN}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point of verl, where its file is not in reach: module, folder of its configs, default config."""

    module: str
    folder: str
    config: str
    source: str


ENTRIES: tuple[Entry, ...] = (
    Entry("verl.trainer.main_ppo", "trainer/config", "ppo_trainer", "verl/trainer/main_ppo.py:35"),
    Entry("verl.trainer.sft_trainer", "trainer/config", "sft_trainer_engine", "verl/trainer/sft_trainer.py:451"),
    Entry(
        "verl.trainer.sft_trainer_ray", "trainer/config", "sft_trainer_engine", "verl/trainer/sft_trainer_ray.py:369"
    ),
    Entry(
        "verl.trainer.fsdp_sft_trainer", "trainer/config", "sft_trainer", "v0.5.0 verl/trainer/fsdp_sft_trainer.py:799"
    ),
    Entry(
        "verl.experimental.fully_async_policy.fully_async_main",
        "experimental/fully_async_policy/config",
        "fully_async_ppo_trainer",
        "verl/experimental/fully_async_policy/fully_async_main.py:193",
    ),
    Entry(
        "verl.experimental.one_step_off_policy.main_ppo",
        "experimental/one_step_off_policy/config",
        "one_step_off_ppo_trainer",
        "verl/experimental/one_step_off_policy/main_ppo.py:110",
    ),
)

_NOT_TRAINING = ("main_eval", "main_generation", "main_generation_server", "print_cfg", "megatron_merge_lora")
STANDARD = frozenset(entry.config for entry in ENTRIES) | {
    "ppo_megatron_trainer",
    "fully_async_ppo_megatron_trainer",
    "one_step_off_ppo_megatron_trainer",
}
"""Configs whose values are verl's own defaults: without their files, the framework's table stands for them."""

_OPTIONS = {
    spelling: name
    for name, spellings in {
        "name": ("--config-name", "-cn", "--config_name"),
        "path": ("--config-path", "-cp", "--config_path"),
        "dir": ("--config-dir", "-cd"),
    }.items()
    for spelling in spellings
}


class Verl:
    """Reads the dotlist over the Hydra config of an entry point."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim verl's trainers, the recipes' mains, and any script that is given `actor_rollout_ref.` keys."""
        found = program(command)
        if found is None or found.name in _NOT_TRAINING:
            return False
        return _is_entry(found) or any(_is_role_key(w) for w in found.words)

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launch of a command."""
        found = program(command)
        if found is None:
            return
        given, words = options(found.words, _OPTIONS)
        application = _application(found, given, command, reader, context)
        merged = settings(application, words, reader, context, command.place, _environment(command, context))
        yield _launch(found, merged, command, reader)


READER = Verl()


def _is_entry(found: Program) -> bool:
    folder = posixpath.dirname(found.file)
    parts = folder.split("/")
    name = found.name
    trains = name.startswith("main_") or name.endswith("_main") or "sft_trainer" in name
    return trains and ("verl" in parts or (parts[:1] == ["recipe"] and bool(found.module)))


def _is_role_key(word: Word) -> bool:
    text = word.text if word.text is not None else word.known
    return text.lstrip("+~").startswith("actor_rollout_ref.")


def _environment(command: Command, context: Context) -> dict[str, Value]:
    return {**command.environment, **context.environment}


def _application(
    found: Program, given: dict[str, Word], command: Command, reader: Reader, context: Context
) -> Application:
    """Find the primary config: its folder, its name, or why they cannot be known."""
    script = locate(found.file, command, reader) or _installed_script(found, context)
    main = hydra_main(script, reader, context) if script is not None else None
    entry = next((e for e in ENTRIES if e.module == found.module), None)
    name = _name(given.get("name"), (main.config_name if main else None) or (entry.config if entry else None))
    beside = posixpath.dirname(script) if script is not None else ""
    folders = _folders(given, beside, main.config_path if main else None, entry, command, reader, context)
    if name is None:
        missing = _why(given.get("name"), "the config that it starts from is not named")
        return Application(folders, None, missing, STANDARD, finder(context))
    return Application(folders, name, "", STANDARD, finder(context))


def _name(word: Word | None, fallback: str | None) -> str | None:
    if word is None:
        return fallback
    return None if word.text is None else word.text.removesuffix(".yaml").removesuffix(".yml")


def _why(word: Word | None, otherwise: str) -> str:
    return (word.reason or otherwise) if word is not None else otherwise


def _folders(
    given: dict[str, Word],
    beside: str,
    own: str | None,
    entry: Entry | None,
    command: Command,
    reader: Reader,
    context: Context,
) -> tuple[Folder, ...]:
    """Give the search path: `--config-path` in place of the script's own folder, `--config-dir` beside it."""
    paths: list[str] = []
    word = given.get("path")
    if word is not None:
        paths += _given_folder(word, beside, command, reader)
    elif own is not None and beside:
        paths += [own if posixpath.isabs(own) else posixpath.normpath(posixpath.join(beside, own))]
    elif entry is not None:
        folder = around(f"verl/{entry.folder}", posixpath.dirname(command.path), reader)
        package = None if folder is not None else _package(context)
        paths += [folder] if folder is not None else [(package / entry.folder).as_posix()] if package else []
    extra = given.get("dir")
    if extra is not None:
        paths += _given_folder(extra, command.folder or "", command, reader)
    return tuple(folder_of(path) for path in paths if is_folder(path, reader))


def _given_folder(word: Word, beside: str, command: Command, reader: Reader) -> list[str]:
    if word.text is None:
        return []
    if posixpath.isabs(word.text):
        return [word.text]
    direct = posixpath.normpath(posixpath.join(beside, word.text))
    if is_folder(direct, reader):
        return [direct]
    folder = around(word.text, command.folder or posixpath.dirname(command.path), reader)
    return [folder] if folder is not None else []


def folder_of(path: str) -> Folder:
    """Make a folder of the search path; what lies inside the verl package are verl's own defaults."""
    return Folder(path, MARKS[is_own(path)])


def is_own(path: str) -> bool:
    """Say whether a file or folder belongs to the verl package itself."""
    parts = path.split("/")
    return any(here == "verl" and after in ("trainer", "experimental", "workers") for here, after in pairwise(parts))


def finder(context: Context) -> Callable[[str, str, Reader], Folder | None]:
    """Give what finds a folder of `hydra.searchpath`, see `_find`."""
    return lambda path, start, reader: _find(path, start, reader, context)


def _package(context: Context) -> Path | None:
    """Find the folder of an installed verl, and let it be read; None where none is there."""
    found = installed("verl", context)
    return found.parent if found is not None and found.name == "__init__.py" else found


def _find(path: str, start: str, reader: Reader, context: Context) -> Folder | None:
    """Find a folder of `hydra.searchpath`: `pkg://a.b` or `file://a/b`, from the files around or an installed verl."""
    scheme, mark, rest = path.partition("://")
    if not mark:
        scheme, rest = "file", path
    wanted = rest.replace(".", "/") if scheme == "pkg" else rest
    folder = around(wanted, start, reader)
    if folder is None and wanted.startswith("verl/"):
        package = _package(context)
        folder = (package / wanted.removeprefix("verl/")).as_posix() if package is not None else None
    return folder_of(folder) if folder is not None and is_folder(folder, reader) else None


def _installed_script(found: Program, context: Context) -> str | None:
    if not found.module.startswith("verl."):
        return None
    package = _package(context)
    if package is None:
        return None
    file = package / found.file.removeprefix("verl/")
    return context.tree.shown(file) if file.is_file() else None


def _launch(found: Program, merged: Settings, command: Command, reader: Reader) -> Launch:
    writes = (*implied(merged), *merged.writes)
    nodes, gpus, world = _ranks(found, merged, command)
    return Launch(
        framework=NAME,
        entry=found.module or found.script,
        surface=command.surface,
        identity=command.identity,
        place=command.place,
        writes=writes,
        environment=command.environment,
        nodes=nodes,
        gpus_per_node=gpus,
        world=world,
        branches=command.branches,
        reads=frozenset(reader.seen),
    )


def implied(merged: Settings) -> tuple[Write, ...]:
    """Say which engine runs the roles where the base files that would say it are not in reach."""
    if not merged.absent:
        return ()
    chosen = dict(merged.chosen)
    word = merged.value("model_engine")
    engine = chosen.get("model_engine") if word is None else word.data
    found = [(key, name) for key, name in (("engine", chosen.get("engine")),) if name is not None]
    if engine == "megatron" or any("megatron" in name for name in merged.absent):
        found += [(f"{role}.strategy", "megatron") for role in _ROLES]
    return tuple(Write(key, _chosen(name)) for key, name in found)


_ROLES = ("actor_rollout_ref.actor", "actor_rollout_ref.ref", "critic")


def _chosen(name: str) -> Value:
    return Value(State.UNSET, name, (Origin(Kind.DEFAULT, name, note="what the chosen config says"),))


def _ranks(found: Program, merged: Settings, command: Command) -> tuple[Value | None, Value | None, Value | None]:
    """Count the ranks that train: Ray's pool of `trainer.*`, or the launcher's for the plain SFT trainers.

    A fully asynchronous run has a second world, `rollout.*`, that only generates.
    """
    if "sft_trainer" in found.name and not found.name.endswith("_ray"):
        return command.nodes, command.gpus_per_node, command.world
    return pool(merged)


def pool(merged: Settings) -> tuple[Value, Value, Value | None]:
    """Give nodes, GPUs a node and ranks of Ray's pool of `trainer.*`."""
    nodes = merged.value("trainer.nnodes") or default(1, _POOL)
    gpus = merged.value("trainer.n_gpus_per_node") or default(8, _POOL)
    return nodes, gpus, product(nodes, gpus)


_POOL = "the default of verl, v0.7.1 verl/trainer/config/ppo_trainer.yaml"
