"""From a command to launches: the first reader that claims it reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from meshlint.config.command import Command, Word
from meshlint.config.hydra.program import program
from meshlint.config.launch import Launch
from meshlint.config.registry import command_readers
from meshlint.config.surface import Context
from meshlint.sources.tree import Reader

_LAST = "megatron-lm"
"""The framework whose flags many programs have: a file that speaks of another is asked before it."""
_DOTS = ("...", "\u2026")
ELLIPSIS = "`...` stands for arguments that were left out"


def launches_of(command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
    """Give the launches of a command; nothing where no framework knows it."""
    from meshlint.config.commands import python_file

    command = _completed(command)
    if _never_trains(command):
        return
    for candidate in command_readers(command):
        if candidate.framework == _LAST:
            made = list(python_file.launches(command, reader, context))
            if made:
                yield from made
                return
            if python_file.trains_by_nemo(command, reader, context):
                return
        if candidate.claims(command):
            yield from candidate.launches(command, reader, context)
            return


_TOOLS = ("pytest", "unittest", "pip", "build", "venv", "compileall", "py_compile")
"""Modules that many people start with Python and that train nothing."""


def _never_trains(command: Command) -> bool:
    """Say whether a command builds, installs or tests something, whatever flags it has."""
    found = program(command)
    if found is None:
        return False
    return found.module in _TOOLS or found.file.rpartition("/")[2] in ("setup.py", "conftest.py")


def _completed(command: Command) -> Command:
    """Take a literal `...` for what it says: arguments that nobody wrote down; those that are written count."""
    left_out = [word for word in command.words if word.text in _DOTS]
    found = program(command) if left_out else None
    if found is None:
        return command
    start = len(command.words) - len(found.words)
    kept = tuple(word for word in found.words if word.text not in _DOTS)
    hole = Word(None, left_out[0].origins, ELLIPSIS, several=True)
    return replace(command, words=(*command.words[:start], hole, *kept))
