"""The linked program: what the rules of the code side read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from meshlint.mesh.dims import STANDARD
from meshlint.models.entry import Entry, from_settings
from meshlint.models.registry import Models
from meshlint.protocol.facts import FileFacts, read
from meshlint.protocol.link import Linker
from meshlint.protocol.summary import Engine
from meshlint.protocol.verdict import CodeFault, Part, Verdicts, is_test, merged

__all__ = ["CodeFault", "Program", "facts_of", "user_models"]


Spread = Callable[[Sequence[str], Callable[[Sequence[str], bool], Part]], list[Part]]
"""How parts of the work are shared out: gives what is made of each part of the paths."""


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
        engine = Engine(Linker(self.facts), Models(self.models))
        paths = [path for path in self.files if path in self.facts and not is_test(path) and engine.concerns(path)]

        def work(part: Sequence[str], here: bool) -> Part:
            return Verdicts(engine.afresh(), STANDARD).part(part)

        return [work(paths, True)] if self.spread is None else self.spread(paths, work)

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
