"""The linked program: what the rules of the code side read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from meshlint.mesh.dims import STANDARD
from meshlint.models.entry import Entry, from_settings
from meshlint.models.registry import Models
from meshlint.protocol.cone import ConeLinker
from meshlint.protocol.facts import FileFacts, read
from meshlint.protocol.link import Linker
from meshlint.protocol.pytests import is_test
from meshlint.protocol.summary import Engine
from meshlint.protocol.verdict import CodeFault, Part, Units, Verdicts, merged
from meshlint.records import dataclass

__all__ = ["CodeFault", "Program", "facts_of", "user_models"]


Work = Callable[[Sequence[str], bool], Units]
Spread = Callable[[Sequence[str], Work], list[Units]]
"""How parts of the work are shared out: gives what is made of each part of the paths."""


class Memory(Protocol):
    """What is known from an earlier run."""

    def link(self, engine: Engine) -> None:
        """Give the engine what is known of who calls whom, as far as it still holds."""

    def standing(self, engine: Engine, paths: Sequence[str]) -> dict[str, Part]:
        """Give the parts of those files whose verdicts rest on nothing that has changed."""

    def keep(self, engine: Engine, paths: Sequence[str], found: Sequence[Units]) -> None:
        """Keep what was found for the files that were judged; forget those that are not among the paths."""


@dataclass(slots=True)
class Program:
    """Every Python file in scope, linked.

    `files` are the paths to judge; `facts` may hold more (libraries beside the tree). Nothing is computed before
    `faults` is asked, and then once for all rules; `spread` shares the judging out among processes.
    """

    files: tuple[str, ...] = ()
    facts: Mapping[str, FileFacts] = field(default_factory=dict)
    models: tuple[Entry, ...] = ()
    spread: Spread | None = None
    memory: Memory | None = None
    _faults: tuple[CodeFault, ...] | None = None
    _notes: tuple[str, ...] = ()

    def faults(self, code: str = "") -> tuple[CodeFault, ...]:
        """Give the faults of the program, those of one code if asked, in order of place."""
        if self._faults is None:
            parts = self._parts()
            self._faults = tuple(merged(parts))
            notes = [f"{path}: {facts.note}" for path, facts in sorted(self.facts.items()) if facts.note]
            self._notes = (*notes, *sorted({note for part in parts for note in part.notes}))
        return tuple(fault for fault in self._faults if not code or fault.code == code)

    def _parts(self) -> list[Part]:
        linker = Linker(self.facts) if self.memory is None else ConeLinker(self.facts)
        engine = Engine(linker, Models(self.models))
        if self.memory is not None:
            self.memory.link(engine)
        paths = [path for path in self.files if path in self.facts and not is_test(path) and engine.concerns(path)]
        known = {} if self.memory is None else self.memory.standing(engine, paths)
        todo = [path for path in paths if path not in known]

        def work(part: Sequence[str], here: bool) -> Units:
            return Verdicts(engine.afresh(), STANDARD).units(part)

        found = [] if not todo else [work(todo, True)] if self.spread is None else self.spread(todo, work)
        if self.memory is not None:
            self.memory.keep(engine, paths, found)
        parts = known | {path: part for units in found for path, part in units.parts.items()}
        left_out = Verdicts(engine.afresh(), STANDARD).omitted(paths)
        return [*(parts[path] for path in paths), Part(omitted=list(left_out))]

    @property
    def notes(self) -> tuple[str, ...]:
        """Give what was not followed, and why; for `--verbose`."""
        self.faults()
        return self._notes


def facts_of(texts: Iterable[tuple[str, str]]) -> dict[str, FileFacts]:
    """Read files given as (path, text)."""
    return {path: read(path, text) for path, text in texts}


def user_models(rows: Iterable[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Read the models of the settings; raises ModelError."""
    return from_settings(rows)
