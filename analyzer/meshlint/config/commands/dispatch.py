"""From a command to launches: the first reader that claims it reads it."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.command import Command
from meshlint.config.launch import Launch
from meshlint.config.registry import command_readers
from meshlint.config.surface import Context
from meshlint.sources.tree import Reader


def launches_of(command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
    """Give the launches of a command; nothing where no framework knows it."""
    for candidate in command_readers():
        if candidate.claims(command):
            yield from candidate.launches(command, reader, context)
            return
