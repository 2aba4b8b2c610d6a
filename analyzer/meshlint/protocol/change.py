"""A change of Python source, with the facts of both sides: what rules about changes read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from meshlint.protocol.facts import Definition, FileFacts
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A Python file that a change touches; a side is None where the file does not exist or cannot be parsed.

    `path` is the one of now, or the former one of a file that is gone. `moved` gives for a line of the side before the
    line of now where it stands, or would stand if it were there still.
    """

    path: str
    before: FileFacts | None
    after: FileFacts | None
    moved: Callable[[int], int] = lambda line: line


@dataclass(frozen=True, slots=True)
class Both:
    """A function that is there on both sides, by its qualified name."""

    file: ChangedFile
    before: Definition
    after: Definition


@dataclass(slots=True)
class ProgramChange:
    """Every Python file that a change touches. `program` gives all files as they are after it, read when asked for."""

    files: tuple[ChangedFile, ...]
    _program: Callable[[], Mapping[str, FileFacts]] = dict
    _known: Mapping[str, FileFacts] | None = field(default=None, repr=False)

    @property
    def program(self) -> Mapping[str, FileFacts]:
        """The facts of every file after the change, by path."""
        if self._known is None:
            self._known = self._program()
        return self._known

    def functions(self) -> Iterator[Both]:
        """Give the functions that both sides have and whose bodies differ, in order; the module's own body included."""
        for file in self.files:
            if file.before is None or file.after is None:
                continue
            there = {definition.qualname: definition for definition in file.before.definitions}
            for definition in file.after.definitions:
                before = there.get(definition.qualname)
                if before is not None and definition.name != "<lambda>":
                    yield Both(file, before, definition)
