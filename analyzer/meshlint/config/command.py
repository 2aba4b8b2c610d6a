"""Commands: what a script, a Python launcher or a person's own command line starts, evaluated to words.

Whoever evaluates a script peels the launcher off (torchrun, srun, ray job submit, uv run, env) and hands the rest to
the command readers: one module a framework in `meshlint.config.commands`, each with a `READER`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Protocol

from meshlint.config.launch import Branch, Launch
from meshlint.config.surface import Context
from meshlint.config.value import EMPTY, HOLE, Origin, State, Value
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Reader

__all__ = ["HOLE", "Command", "CommandReader", "Word"]


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command after evaluation.

    `text` is None where the word, or part of it, is unknown; `reason` says why, and `known` then holds the part before
    the unknown one (`--context-parallel-size=` of `--context-parallel-size=$X`). `several` says that an unknown word
    may stand for any number of words (an unknown array). `shape` is the whole of a word that is unknown in part, each
    unknown stretch as one HOLE. `origins` are the places that made it, the one to edit first:
    for `--cp $CP` with `CP=4` above, the assignment, then the use. `home` tells the list that it stands in from others:
    the expansions that brought it (`${ARGS[@]}`), or the literal of a string; empty for the command itself.
    """

    text: str | None
    origins: tuple[Origin, ...] = ()
    reason: str = ""
    known: str = ""
    several: bool = False
    shape: str = ""
    home: tuple[Span, ...] = ()

    def value(self) -> Value:
        """Give the word as a value."""
        if self.text is None:
            return Value(State.UNKNOWN, None, self.origins, self.reason, self.shape)
        return Value(State.SET, self.text, self.origins)


@dataclass(frozen=True, slots=True)
class Command:
    """A process that is started for training, launcher peeled off: the program or script first, then its arguments.

    `path` is the file that holds it, `scope` its stable name inside (`command 1`, or a function), `folder` the folder
    it runs in, as shown, where that is known. `environment` are the variables that are set for it, as far as known;
    an entry `*` is an environment of unknown extent.
    """

    words: tuple[Word, ...]
    path: str
    scope: str
    place: Span
    surface: str = "shell"
    folder: str | None = None
    environment: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    nodes: Value | None = None
    gpus_per_node: Value | None = None
    world: Value | None = None
    branches: tuple[Branch, ...] = ()
    counts: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    """What the launchers and the job's own directives said, see `Launch.counts`."""

    @property
    def identity(self) -> str:
        """Give the stable name of the launch that it makes."""
        return f"{self.path}::{self.scope}"


class CommandReader(Protocol):
    """Turns the commands of one framework into launches."""

    framework: str

    def claims(self, command: Command) -> bool:
        """Say by the program, script name or module whether a command belongs to the framework."""

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launches of a command (one, or one for each role set or world); never raises for its content.

        `reader` records the files that take part (a `--config`, a base YAML): put `reader.seen` into `Launch.reads`.
        """
