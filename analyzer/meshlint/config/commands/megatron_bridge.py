"""Megatron-Bridge's commands: a script that takes a recipe, merges overrides and trains.

The script itself says how its arguments meet the recipe (`run_recipe.py --recipe NAME -cp 4 model.cp_comm_type=...`,
an example's `--config-file x.yaml`, the performance scripts), and that differs from version to version; so it is
evaluated with the command's words. Where its file is not in reach, or it cannot be followed to the call that trains,
the recipe is looked up by name and the words are applied as `scripts/training/run_recipe.py` does (main 067f987df).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from meshlint.config.command import Command
from meshlint.config.commands.python_file import argv_of
from meshlint.config.hydra.program import Program, locate, program
from meshlint.config.launch import Launch
from meshlint.config.python.explore import Outcome, Session
from meshlint.config.python.machine import Row
from meshlint.config.python.program import Module
from meshlint.config.python.recipes import run_by_name
from meshlint.config.python.surface import split
from meshlint.config.python.values import Leaf, Unknown
from meshlint.config.surface import Context
from meshlint.config.surfaces.bridge_recipe import SURFACE, entry_of
from meshlint.sources.tree import Reader

NAME = "megatron-bridge"
RUNNERS = ("run_recipe.py", "run_script.py")
_STAND_INS: Mapping[str, str] = {"scripts/performance/setup_experiment.py": "run_script.py"}
"""Scripts of the login node that hand their words on to another (v0.4.2 scripts/performance/setup_experiment.py)."""
_SIGNS = ("model.", "train.", "dataset.", "ddp.", "dist.", "checkpoint.", "optimizer.", "comm_overlap.")
_FLAGS = ("--recipe", "--config-file", "--config_file", "--model_recipe_name", "-mr")


class MegatronBridge:
    """Reads the commands of Bridge's scripts and of a person's own that train with a recipe."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim Bridge's runners, and scripts whose words look like overrides of a container."""
        found = program(command)
        if found is None or not (found.script or found.module):
            return False
        if posixpath.basename(found.file) in RUNNERS or found.file.endswith(tuple(_STAND_INS)):
            return True
        texts = [w.text if w.text is not None else w.known for w in found.words]
        return any(t in _FLAGS or ("=" in t and t.lstrip("+~").startswith(_SIGNS)) for t in texts)

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launches that the script comes to with these words."""
        found = program(command)
        if found is None:
            return
        session = SURFACE.session(context)
        argv = argv_of(found.words)
        path = _script(found, command, reader)
        module = session.program.module(path) if path is not None else None
        made = list(_followed(session, module, argv, command, reader)) if module is not None else []
        if not made and posixpath.basename(found.file) == "run_recipe.py":
            made = [_launch(session, o, o.rows, "train", command, reader) for o in run_by_name(session, argv)]
        yield from made


READER = MegatronBridge()


def _script(found: Program, command: Command, reader: Reader) -> str | None:
    wanted = found.file
    stand_in = next((name for end, name in _STAND_INS.items() if wanted.endswith(end)), None)
    if stand_in is not None:
        wanted = posixpath.join(posixpath.dirname(wanted), stand_in)
    return locate(wanted.removeprefix("/opt/Megatron-Bridge/"), command, reader)


def _followed(
    session: Session, module: Module, argv: tuple[Leaf | Unknown, ...], command: Command, reader: Reader
) -> Iterator[Launch]:
    for outcome in session.script(module, argv):
        sinks = [sink for sink in outcome.sinks if sink.rows]
        for sink in sinks[:1]:
            yield _launch(session, outcome, sink.rows, entry_of(sink), command, reader)


def _launch(
    session: Session, outcome: Outcome, rows: tuple[Row, ...], entry: str, command: Command, reader: Reader
) -> Launch:
    """Make a launch; the environment of the command wins over the recipe's `env_vars` (training/config.py:1989)."""
    writes, environment = split(rows, session.writes)
    return Launch(
        framework=NAME,
        entry=entry,
        surface=command.surface,
        identity=command.identity,
        place=command.place,
        writes=writes,
        environment={**environment, **command.environment},
        nodes=command.nodes,
        gpus_per_node=command.gpus_per_node,
        world=command.world,
        branches=(*command.branches, *outcome.branches),
        reads=frozenset((*reader.seen, *outcome.reads)),
    )
