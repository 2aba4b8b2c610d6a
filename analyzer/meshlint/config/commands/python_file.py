"""A command that starts a person's own Python file: what the file builds and trains, with the command's words.

The file form judges the same file by itself; here its arguments are the command's, and the launcher says how many
ranks there are and which variables are set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.config.command import Command, Word
from meshlint.config.hydra.program import locate, program
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.sources.tree import Reader

if TYPE_CHECKING:
    from meshlint.config.python.program import Module
    from meshlint.config.python.surface import PythonSurface
    from meshlint.config.python.values import Leaf, Unknown


def launches(command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
    """Give what the command's file starts; nothing where it has none, or it speaks of no framework."""
    found = program(command)
    path = locate(found.file, command, reader) if found is not None and found.file.endswith(".py") else None
    if found is None or path is None:
        return
    text = context.tree.glance(path)
    if "execute_train(" in text:
        from meshlint.config.surfaces.slime_python import SURFACE as SLIME

        yield from _as_started(SLIME.started(path, context, argv_of(found.words)), command, reader)
        return
    for surface in _speaking(text):
        module = surface.session(context).program.module(path)
        if module is not None:
            made = list(_of_file(surface, module, argv_of(found.words), command, reader, context))
            yield from made
            if made:
                return


def trains_by_nemo(command: Command, reader: Reader, context: Context) -> bool:
    """Say whether a command's file makes NeMo 2's strategy: its flags are its own, whatever they are called."""
    found = program(command)
    path = locate(found.file, command, reader) if found is not None and found.file.endswith(".py") else None
    return path is not None and "MegatronStrategy(" in context.tree.glance(path)


def _speaking(text: str) -> Iterator[PythonSurface]:
    """Give the surfaces whose framework a file speaks of; they are imported only where one could."""
    if "megatron.bridge" in text:
        from meshlint.config.surfaces.bridge_recipe import SURFACE as BRIDGE

        if BRIDGE.speaks(text):
            yield BRIDGE
    if "nemo" in text:
        from meshlint.config.surfaces.nemo2_recipe import SURFACE as NEMO

        if NEMO.speaks(text):
            yield NEMO


def argv_of(words: tuple[Word, ...]) -> tuple[Leaf | Unknown, ...]:
    """Give the words of a command as the program's `sys.argv[1:]`."""
    return tuple(_value(word) for word in words)


def _value(word: Word) -> Leaf | Unknown:
    from meshlint.config.python.values import Leaf, Piece, Unknown

    if word.text is not None:
        return Leaf(word.text, word.origins)
    pieces = (Piece(word.known, word.origins), Piece(None, word.origins, word.reason)) if word.known else ()
    return Unknown(word.reason, word.origins, pieces=pieces, several=word.several)


def _of_file(
    surface: PythonSurface,
    module: Module,
    argv: tuple[Leaf | Unknown, ...],
    command: Command,
    reader: Reader,
    context: Context,
) -> Iterator[Launch]:
    """Give what the file starts with these words; where that cannot be followed, what the file form finds."""
    session = surface.session(context)
    made = [
        surface.launch(session, replace(outcome, failed=""), sink.rows, surface.entry_of(sink), "", command.place)
        for outcome in session.script(module, argv)
        for sink in [sink for sink in outcome.sinks if sink.rows][:1]
    ]
    yield from _as_started(made or surface.started(session, module), command, reader)


def _as_started(made: Iterator[Launch] | list[Launch], command: Command, reader: Reader) -> Iterator[Launch]:
    """Give launches of a file as those of the command that starts it; what the command says of ranks goes first."""
    for launch in made:
        yield replace(
            launch,
            surface=command.surface,
            identity=command.identity,
            place=command.place,
            environment={**launch.environment, **command.environment},
            nodes=command.nodes or launch.nodes,
            gpus_per_node=command.gpus_per_node or launch.gpus_per_node,
            world=command.world or launch.world,
            branches=(*command.branches, *launch.branches),
            reads=frozenset((*reader.seen, *launch.reads)),
        )
