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
from meshlint.protocol.faults import CodeFault, Part, Switched, Units, merged
from meshlint.protocol.heads import Head
from meshlint.protocol.link import Linker
from meshlint.protocol.pytests import is_test
from meshlint.protocol.summary import Engine
from meshlint.protocol.verdict import Verdicts
from meshlint.records import dataclass
from meshlint.room import room

__all__ = ["CodeFault", "Program", "facts_of", "user_models"]


CALLS = 5000
"""Calls inside of one another that judging may take: more than its bounds let it come to."""

Work = Callable[[Iterable[str], bool], Units]
Spread = Callable[[Sequence[str], Engine, Work], list[Units]]
"""How parts of the work are shared out: gives what is made of each part of the paths of a program."""


class Memory(Protocol):
    """What is known from an earlier run."""

    def link(self, engine: Engine) -> None:
        """Give the engine what is known of who calls whom, as far as it still holds."""

    def standing(self, engine: Engine, paths: Sequence[str]) -> dict[str, Part]:
        """Give the parts of those files whose verdicts rest on nothing that has changed."""

    def switched(self, engine: Engine) -> tuple[list[CodeFault], list[str]]:
        """Give what callers leave out as far as it stands, and the files whose callers must be looked at again."""

    def keep(self, engine: Engine, found: Sequence[Units], switched: Switched) -> None:
        """Keep what was found; forget what does not stand any more."""


@dataclass(slots=True)
class Program:
    """Every Python file in scope, linked.

    `files` are the paths to judge; `facts` may hold more (libraries beside the tree), and holds no tests but those
    that others import. Nothing is computed before `faults` is asked, and then once for all rules; `spread` shares the
    judging out among processes.
    """

    files: tuple[str, ...] = ()
    facts: Mapping[str, FileFacts] = field(default_factory=dict)
    models: tuple[Entry, ...] = ()
    spread: Spread | None = None
    memory: Memory | None = None
    heads: Mapping[str, Head] | None = None
    """The heads of all files, if they are known."""
    every: Mapping[str, FileFacts] = field(default_factory=dict)
    """The facts and those of tests, which are no part of the program, if a rule asks for them."""
    beside: Mapping[str, Head] = field(default_factory=dict)
    """The heads of all files that are no part of the program."""
    _faults: tuple[CodeFault, ...] | None = None
    _notes: tuple[str, ...] = ()
    _concerned: int = 0

    def faults(self, code: str = "") -> tuple[CodeFault, ...]:
        """Give the faults of the program, those of one code if asked, in order of place."""
        if self._faults is None:
            with room(CALLS):
                parts = self._parts()
            self._faults = tuple(merged(parts))
            said: Mapping[str, FileFacts | Head] = self.facts if self.heads is None else self.heads
            told = ((path, one.note) for path, one in sorted({**said, **self.beside}.items(), key=lambda item: item[0]))
            notes = [f"{path}: {note}" for path, note in told if note]
            self._notes = (*notes, *sorted({note for part in parts for note in part.notes}))
        return tuple(fault for fault in self._faults if not code or fault.code == code)

    def _parts(self) -> list[Part]:
        linker = Linker(self.facts) if self.memory is None else ConeLinker(self.facts)
        engine = Engine(linker, models=Models(self.models))
        if self.heads is not None:
            know(engine, self.heads)
        if self.memory is not None:
            self.memory.link(engine)
        paths = [path for path in self.files if path in self.facts and not is_test(path) and engine.concerns(path)]
        self._concerned = len(paths)
        known = {} if self.memory is None else self.memory.standing(engine, paths)
        todo = [path for path in paths if path not in known]

        def work(part: Iterable[str], here: bool) -> Units:
            return Verdicts(engine.afresh(), STANDARD).units(part)

        found = [] if not todo else [work(todo, True)] if self.spread is None else self.spread(todo, engine, work)
        stand, again = ([], list(self.facts)) if self.memory is None else self.memory.switched(engine)
        switched = Verdicts(engine.afresh(), STANDARD).switched(path for path in again if self._switches(path))
        if self.memory is not None:
            self.memory.keep(engine, found, switched)
        parts = known | {path: part for units in found for path, part in units.parts.items()}
        left_out = [*stand, *(fault for faults in switched.faults.values() for fault in faults)]
        wanted = set(paths)
        return [*(parts[path] for path in paths), Part(omitted=[f for f in left_out if f.span.path in wanted])]

    def _switches(self, path: str) -> bool:
        return self.heads is None or self.heads[path].switches

    def unread(self, path: str) -> str:
        """Give why nothing of a file is followed, empty for one that is."""
        one = self.beside.get(path) or (self.facts if self.heads is None else self.heads).get(path)
        held = () if one is None else one.definitions if isinstance(one, FileFacts) else one.bodies
        return "" if one is None or held else one.note

    def holds(self, path: str) -> bool:
        """Say whether a file could be read, as a part of the program or beside it."""
        return path in self.facts or path in self.beside

    @property
    def read(self) -> Mapping[str, FileFacts]:
        """Give the facts of all that was read: of the program, and of tests beside it."""
        return self.every or self.facts

    @property
    def concerned(self) -> int:
        """Give the number of files asked for that reach a collective, or ask for pipeline stages."""
        self.faults()
        return self._concerned

    @property
    def notes(self) -> tuple[str, ...]:
        """Give what was not followed, and why; for `--verbose`."""
        self.faults()
        return self._notes


def know(engine: Engine, heads: Mapping[str, Head]) -> None:
    """Give an engine what the heads of all files say."""
    engine.near = {path: head.near for path, head in heads.items()}
    engine.gathered["building"] = frozenset(word for head in heads.values() for word in head.building)
    engine.gathered["refused"] = frozenset(word for head in heads.values() for word in head.refused)


def facts_of(texts: Iterable[tuple[str, str]]) -> dict[str, FileFacts]:
    """Read files given as (path, text)."""
    return {path: read(path, text) for path, text in texts}


def user_models(rows: Iterable[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Read the models of the settings; raises ModelError."""
    return from_settings(rows)
