"""Megatron-Bridge's YAML: maps of overrides (`model:`, `train:`) that a script merges over its recipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from meshlint.config.launch import Launch, Write
from meshlint.config.python import overrides
from meshlint.config.python.explore import Session
from meshlint.config.python.flatten import value_of
from meshlint.config.python.machine import Sink
from meshlint.config.python.program import Module, Program, program_of
from meshlint.config.python.surface import mark_repeated, split
from meshlint.config.python.values import Leaf
from meshlint.config.surface import Context
from meshlint.config.surfaces.bridge_recipe import SURFACE as RECIPES
from meshlint.config.value import unknown
from meshlint.place import Span
from meshlint.sources.tree import Unreadable

NAME = "bridge-yaml"
_OPTIONS = ("--config-file", "--config_file")
_SECTIONS = frozenset(
    ("model", "train", "dataset", "ddp", "dist", "optimizer", "scheduler", "checkpoint", "tokenizer", "logger", "rng")
)


class BridgeYaml:
    """A file is a launch of the script beside it (or a folder above) that names it, with it as `--config-file`."""

    name = NAME

    def claims(self, path: str) -> bool:
        """Claim YAML in a folder `conf`, and files that say that they override a recipe."""
        pure = PurePosixPath(path)
        return pure.suffix in (".yaml", ".yml") and ("conf" in pure.parts[:-1] or "override" in pure.name)

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Judge the files that have a container's sections and a script of Bridge's near them."""
        return [p for p in paths if _has_sections(p, context) and _scripts(p, program_of(context))]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the launch of the script with this file; its own keys over unknown ones where that is not followed."""
        session = RECIPES.session(context)
        for script in _scripts(path, session.program):
            module = session.program.module(script)
            made = list(_followed(session, module, path)) if module is not None else []
            if made:
                yield from made
                return
        yield _alone(session, path)


def _followed(session: Session, module: Module, path: str) -> Iterator[Launch]:
    text = session.program.text(module.path)
    option = next((o for o in _OPTIONS if o in text), _OPTIONS[0])
    for outcome in session.script(module, (Leaf(option), Leaf(path))):
        sinks: list[Sink] = [sink for sink in outcome.sinks if sink.rows and path in outcome.reads]
        for sink in sinks[:1]:
            writes, environment = split(sink.rows, session.writes)
            yield Launch(
                framework=RECIPES.framework,
                entry=RECIPES.entry_of(sink),
                surface=NAME,
                identity=f"{path}::{PurePosixPath(module.path).name}",
                place=Span(path, 1),
                writes=writes,
                environment=environment,
                branches=outcome.branches,
                reads=frozenset(outcome.reads),
            )


def _alone(session: Session, path: str) -> Launch:
    reason = "which recipe the file is merged over is not known"
    writes = [Write("*", unknown(reason))]
    machine = session.machine({})
    for key, value in overrides.from_file(machine, Leaf(path)):
        writes.append(Write(key, value_of(value)))
    place = Span(path, 1)
    return Launch(RECIPES.framework, "train", NAME, path, place, tuple(mark_repeated(writes)), reads=frozenset((path,)))


def _scripts(path: str, program: Program) -> list[str]:
    """Give the Python files in the file's folder and up to three above it that name it and train."""
    stem = PurePosixPath(path).name
    found = []
    for folder in list(PurePosixPath(path).parents)[:3]:
        prefix = "" if str(folder) == "." else f"{folder}/"
        for file in program.files:
            if not file.endswith(".py") or not file.startswith(prefix) or "/" in file[len(prefix) :]:
                continue
            text = program.text(file)
            if "megatron.bridge" in text and stem in text:
                found.append(file)
    return found


def _has_sections(path: str, context: Context) -> bool:
    try:
        text = context.tree.read(path).text
    except Unreadable:
        return False
    names = {line.partition(":")[0] for line in text.split("\n") if line[:1].isalpha() and ":" in line}
    return len(names & _SECTIONS) >= 2


SURFACE = BridgeYaml()
