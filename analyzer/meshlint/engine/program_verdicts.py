"""Verdicts of the code side kept between runs: each stands as long as every question it rests on has the same answer.

The store is one file for a tree, a set of models and a version of meshlint: the questions with the hashes of their
answers, and for each judged file what it shows and the numbers of its questions. A store that is broken counts as none.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from enum import Enum
from pathlib import Path
from typing import Any

from meshlint.engine.cache import code_stamps, keep
from meshlint.engine.program_facts import Facts
from meshlint.engine.program_links import Link, holding, links_of
from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.place import Span
from meshlint.protocol.cone import Answers, Question
from meshlint.protocol.roots import in_a_thread
from meshlint.protocol.stages import without_pipeline
from meshlint.protocol.summary import Engine
from meshlint.protocol.verdict import CodeFault, Part, Standing, Units, building_keys
from meshlint.records import dataclass

MARK = b"meshlint verdicts 2\n"
KEPT = 8
"""Stores kept; the oldest go first."""
MAX_BYTES = 256 * 1024 * 1024
NOTE = "note"
"""The kind of what is no question but a thing to tell."""
_OF_ONE_FILE = frozenset(("body", "file", "within", "assigned"))
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Span, Related, CodeFault, Standing, Part)}
_ENUMS: dict[str, type[Enum]] = {kind.__name__: kind for kind in (Severity, Confidence, Outcome)}


@dataclass(slots=True)
class Store:
    """What is known of a tree: hashes of files, questions with answers, and parts with the questions they rest on."""

    digests: dict[str, str] = field(default_factory=dict)
    answers: dict[Question, bytes] = field(default_factory=dict)
    units: dict[str, tuple[list[Question], Any]] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)


@dataclass(slots=True)
class Verdicts:
    """The verdicts of an earlier run over the same tree."""

    file: Path
    facts: Facts
    _store: Store = field(default_factory=Store)
    _standing: dict[str, tuple[list[Question], Any]] = field(default_factory=dict)
    _answers: dict[Question, bytes] = field(default_factory=dict)

    def link(self, engine: Engine) -> None:
        """Give the engine what is known of who calls whom, as far as it still holds."""
        self._store = load(self.file)
        engine.edges.update(holding(self._store.links, self._store.digests, self.facts))

    def standing(self, engine: Engine, paths: Sequence[str]) -> dict[str, Part]:
        """Give the parts of those files whose verdicts rest on nothing that has changed."""
        judge = _Now(self._store, self.facts, answers_of(engine, self.facts))
        wanted = set(paths)
        found: dict[str, Part] = {}
        for path, (questions, part) in self._store.units.items():
            if path in wanted and all(judge.same(question) for question in questions):
                self._standing[path] = (questions, part)
                found[path] = made(part)
        self._answers = judge.known()
        return found

    def keep(self, engine: Engine, paths: Sequence[str], found: Sequence[Units]) -> None:
        """Keep what was found for the files that were judged; forget those that are not among the paths."""
        digests = {path: row[1] for path, row in self.facts.rows.items()}
        if not found and self._standing.keys() == self._store.units.keys() and digests == self._store.digests:
            return
        units = dict(self._standing)
        for one in found:
            for path, part in one.parts.items():
                try:
                    units[path] = ([one.questions[number] for number in sorted(one.asked[path])], plain(part))
                except TypeError:
                    continue
        now = answers_of(engine, self.facts)
        asked = {question for questions, _ in units.values() for question in questions}
        answers = {question: self._answers.get(question) or now(question) for question in asked}
        links = links_of(engine.edges, self._store.links, self._store.digests, self.facts)
        save(self.file, Store(digests, answers, {path: units[path] for path in paths if path in units}, links))


@dataclass(slots=True)
class _Now:
    """Compares answers with those of now, each once."""

    store: Store
    facts: Facts
    answers: Answers
    _same: dict[Question, bool] = field(default_factory=dict)
    _untouched: bool = field(init=False)

    def __post_init__(self) -> None:
        """See whether anything changed at all."""
        rows = self.facts.rows
        self._untouched = {path: row[1] for path, row in rows.items()} == self.store.digests

    def same(self, question: Question) -> bool:
        """Say whether a question has the answer that it had."""
        if self._untouched:
            return True
        known = self._same.get(question)
        if known is None:
            known = self._same[question] = self._is_same(question)
        return known

    def _is_same(self, question: Question) -> bool:
        if question[0] in _OF_ONE_FILE and self._alike(question[1]):
            return True
        return question[0] == NOTE or self.answers(question) == self.store.answers.get(question)

    def _alike(self, path: str) -> bool:
        row = self.facts.rows.get(path)
        return row is not None and self.store.digests.get(path) == row[1]

    def known(self) -> dict[Question, bytes]:
        """Give the answers that are known to hold."""
        answers = self.store.answers
        return answers if self._untouched else {asked: answers[asked] for asked, same in self._same.items() if same}


def answers_of(engine: Engine, facts: Facts) -> Answers:
    """Answer questions about the program as it is."""

    def of_all(what: str) -> object:
        gather = building_keys if what == "building" else without_pipeline
        return sorted(gather(facts.values()))

    def thread(path: str, index: int) -> bool:
        return in_a_thread(engine, path, engine.linker.definition(path, index))

    return Answers(engine, lambda path: facts.rows[path][2], of_all, thread)


def store_file(folder: Path, root: Path, models: Iterable[object]) -> Path:
    """Give the file of a tree's store: what judges, and for which Python, is part of its name."""
    parts = (sys.version, *code_stamps(), str(root), *(repr(model) for model in models))
    name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return folder / f"{name}.verdicts"


def load(file: Path) -> Store:
    """Read a store; empty where there is none that is whole."""
    try:
        if file.stat().st_size > MAX_BYTES:
            return Store()
        data = file.read_bytes()
    except OSError:
        return Store()
    start = len(MARK) + 32
    body = memoryview(data)[start:]
    if not data.startswith(MARK) or hashlib.sha256(body).digest() != data[len(MARK) : start]:
        return Store()
    digests, questions, answers, units, links = marshal.loads(body)
    store = Store(digests, dict(zip(questions, answers, strict=True)), {}, links)
    for path, (numbers, part) in units.items():
        asked = array("I")
        asked.frombytes(numbers)
        store.units[path] = ([questions[number] for number in asked], part)
    return store


def save(file: Path, store: Store) -> None:
    """Write a store; whatever goes wrong is nobody's business."""
    numbers = {question: number for number, question in enumerate(store.answers)}
    units = {
        path: (array("I", (numbers[question] for question in questions)).tobytes(), part)
        for path, (questions, part) in store.units.items()
    }
    try:
        body = marshal.dumps((store.digests, list(store.answers), list(store.answers.values()), units, store.links))
        keep(file, MARK + hashlib.sha256(body).digest() + body, KEPT)
    except (OSError, ValueError):
        return


def plain(value: Any) -> Any:
    """Turn a part into what `marshal` writes; raises TypeError for what it has no form for."""
    if isinstance(value, Enum):
        return ("enum", type(value).__name__, value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Span):
        return ("Span", [*value])
    kind = type(value).__name__
    if kind in _KINDS:
        return (kind, [plain(getattr(value, item.name)) for item in fields(value)])
    if isinstance(value, tuple | list):
        return ("list" if isinstance(value, list) else "tuple", [plain(item) for item in value])
    if isinstance(value, frozenset):
        return ("set", sorted(value))
    raise TypeError(kind)


def made(value: Any) -> Any:
    """Give what `plain` was given."""
    if not isinstance(value, tuple):
        return value
    if value[0] == "enum":
        return _ENUMS[value[1]](value[2])
    if value[0] == "set":
        return frozenset(value[1])
    items = [made(item) for item in value[1]]
    if value[0] in ("list", "tuple"):
        return items if value[0] == "list" else tuple(items)
    return _KINDS[value[0]](*items)
