"""Verdicts of the code side kept between runs: each stands as long as every question it rests on has the same answer.

The store is one file for a tree, a set of models and a version of meshlint: the questions with the hashes of their
answers, and for each judged file what it shows and the numbers of its questions. A store that is broken counts as none.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

from meshlint.engine.cache import code_stamps, keep, kept_bytes
from meshlint.engine.program_facts import Facts
from meshlint.engine.program_links import Holding, Link, Place, holding, touched
from meshlint.engine.program_moved import Moved, Uncertain
from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.place import Span
from meshlint.protocol.cone import Answers, Question
from meshlint.protocol.faults import CodeFault, Part, Standing, Switched, Units
from meshlint.protocol.lineage import Lines
from meshlint.protocol.packing import building_keys
from meshlint.protocol.roots import in_a_thread
from meshlint.protocol.stages import without_pipeline
from meshlint.protocol.summary import Engine
from meshlint.records import dataclass

MARK = b"meshlint verdicts 4\n"
KEPT = 8
"""Stores kept; the oldest go first."""
MAX_BYTES = 256 * 1024 * 1024
NOTE = "note"
"""The kind of what is no question but a thing to tell."""
_OF_ONE_FILE = frozenset(("body", "file", "assigned"))
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Span, Related, CodeFault, Standing, Part)}
_ENUMS: dict[str, type[Enum]] = {kind.__name__: kind for kind in (Severity, Confidence, Outcome)}


Numbers = bytes
"""Numbers of questions, as the bytes of an array."""


@dataclass(slots=True)
class Store:
    """What is known of a tree, by path: hashes of files, parts, what callers leave out, who calls whom.

    Parts and the rest name the questions that they rest on by their place among all questions, of which the answers
    are kept as hashes. `below` and `bears` are the linker's tables of subclasses and of methods by name.
    """

    digests: dict[str, str] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    units: dict[str, tuple[Numbers, Any]] = field(default_factory=dict)
    switched: dict[str, tuple[Numbers, Any]] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    below: dict[Place, list[Place]] | None = None
    bears: dict[str, list[Place]] | None = None
    needed: int = 0
    """How many questions there were when those that nothing rests on were last left out."""


@dataclass(slots=True)
class Verdicts:
    """The verdicts of an earlier run over the same tree."""

    file: Path
    facts: Facts
    _store: Store = field(default_factory=Store)
    _holding: Holding | None = None
    _wrong: frozenset[int] = frozenset()
    """The questions that have another answer now."""
    _moved: list[Moved] = field(default_factory=list)
    """The files of which lines may have moved."""
    _standing: dict[str, tuple[Numbers, Any]] = field(default_factory=dict)
    _left_out: dict[str, tuple[Numbers, Any]] = field(default_factory=dict)

    def link(self, engine: Engine) -> None:
        """Give the engine what is known of who calls whom, as far as it still holds."""
        store = self._store = load(self.file)
        held = self._holding = holding(store.links, store.digests, self.facts)
        if held is None:
            return
        engine.edges.update({path: link[2] for path, link in store.links.items() if path not in held.changed})
        engine.linker.remember(store.below, store.bears)

    def standing(self, engine: Engine, paths: Sequence[str]) -> dict[str, Part]:
        """Give the parts of those files whose verdicts rest on nothing that has changed."""
        self._wrong = self._changed_answers(engine)
        self._moved = self._files_moved()
        self._standing = self._kept(self._store.units)
        return {path: made(self._standing[path][1]) for path in paths if path in self._standing}

    def switched(self, engine: Engine) -> tuple[list[CodeFault], list[str]]:
        """Give what callers leave out that rests on nothing that has changed, and the files to look through again."""
        self._left_out = self._kept(self._store.switched)
        faults = [fault for _, kept in self._left_out.values() for fault in made(kept)]
        return faults, [path for path in self.facts.rows if path not in self._left_out]

    def _kept(self, table: dict[str, tuple[Numbers, Any]]) -> dict[str, tuple[Numbers, Any]]:
        """Give the entries that still stand: no answer is another one, and of lines that moved all are known."""
        found: dict[str, tuple[Numbers, Any]] = {}
        for path, (data, value) in table.items():
            numbers = _numbers(data)
            if path in self.facts.rows and self._wrong.isdisjoint(numbers):
                with suppress(Uncertain):
                    found[path] = data, self._told_again(value, numbers)
        return found

    def _told_again(self, value: Any, numbers: array[int]) -> Any:
        for one in self._moved:
            value = one.told_again(value, numbers)
        return value

    def _files_moved(self) -> list[Moved]:
        """Give the files of which lines may have moved; the questions are gone through once for all of them."""
        rows, digests = self.facts.rows, self._store.digests
        bodies: dict[str, set[int]] = {
            path: set() for path, digest in digests.items() if path not in rows or rows[path][1] != digest
        }
        for number, question in enumerate(self._store.questions) if bodies else ():
            if question[0] == "body" and question[1] in bodies:
                bodies[question[1]].add(number)
        return [Moved(path, self._lines(path), frozenset(numbers)) for path, numbers in bodies.items()]

    def _lines(self, path: str) -> Lines:
        """Give where the lines of a file are now; of none where it is not the text after the one that is known."""
        if path not in self.facts.rows:
            return Lines(())
        digest, segments, _ = self.facts.head(path).moves
        return Lines(segments if digest == self._store.digests[path] else ())

    def _changed_answers(self, engine: Engine) -> frozenset[int]:
        """Give the numbers of the questions whose answers are others than before."""
        store, now = self._store, answers_of(engine, self.facts)
        held = self._holding
        if held is not None and not held.changed:
            return frozenset()
        doubt = _everything(store, self.facts) if held is None else _doubts(store, held, engine, self.facts)
        return frozenset(
            number
            for number, question in enumerate(store.questions)
            if question[0] != NOTE and doubt(question) and now(question) != store.answers[number]
        )

    def keep(self, engine: Engine, found: Sequence[Units], switched: Switched) -> None:
        """Keep what was found; forget what does not stand any more."""
        store = self._store
        digests = {path: row[1] for path, row in self.facts.rows.items()}
        whole = self._standing.keys() == store.units.keys() and self._left_out.keys() == store.switched.keys()
        if not found and not switched.faults and whole and digests == store.digests:
            return
        ledger = _Ledger(store.questions, store.answers, answers_of(engine, self.facts), self._wrong)
        units, left_out = dict(self._standing), dict(self._left_out)
        for one in found:
            for path, part in one.parts.items():
                ledger.enter(units, path, part, one.questions, one.asked[path])
        for path, faults in switched.faults.items():
            ledger.enter(left_out, path, faults, switched.questions, switched.asked[path])
        heads = {path: self.facts.head(path) for path in self.facts.rows}
        links = {p: (head.outline, head.classes, engine.edges[p]) for p, head in heads.items()}
        below, bears = engine.linker.tables()
        new = Store(digests, ledger.questions, ledger.answers, units, left_out, links, below, bears, store.needed)
        save(self.file, new if self._holding is not None and len(new.questions) < 2 * new.needed else pruned(new))


@dataclass(slots=True)
class _Ledger:
    """The questions and answers of a store, to which new ones are added."""

    questions: list[Question]
    answers: list[bytes]
    now: Answers
    wrong: frozenset[int]
    _numbers: dict[Question, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Number the questions; give those that have another answer now the new one."""
        self._numbers = {question: number for number, question in enumerate(self.questions)}
        for number in sorted(self.wrong):
            self.answers[number] = self.now(self.questions[number])

    def enter(
        self,
        table: dict[str, tuple[Numbers, Any]],
        path: str,
        value: Any,
        questions: Sequence[Question],
        asked: set[int],
    ) -> None:
        """Enter something that was found, if it has a plain form."""
        try:
            kept = plain(value)
        except TypeError:
            return
        table[path] = (array("I", [self._number(questions[number]) for number in sorted(asked)]).tobytes(), kept)

    def _number(self, question: Question) -> int:
        number = self._numbers.get(question)
        if number is None:
            number = self._numbers[question] = len(self.questions)
            self.questions.append(question)
            self.answers.append(self.now(question))
        return number


def _numbers(data: Numbers) -> array[int]:
    numbers = array("I")
    numbers.frombytes(data)
    return numbers


def pruned(store: Store) -> Store:
    """Leave out the questions that nothing rests on."""
    tables = (store.units, store.switched)
    used = sorted({number for table in tables for data, _ in table.values() for number in _numbers(data)})
    places = {number: place for place, number in enumerate(used)}
    for table in tables:
        for path, (data, value) in table.items():
            table[path] = (array("I", [places[number] for number in _numbers(data)]).tobytes(), value)
    questions = [store.questions[number] for number in used]
    answers = [store.answers[number] for number in used]
    return replace(store, questions=questions, answers=answers, needed=len(used))


Doubt = Callable[[Question], bool]
"""Says whether a question may have another answer than before, so that it must be asked again."""


def _everything(store: Store, facts: Facts) -> Doubt:
    """Doubt every question, but those about the text of one file that did not change."""
    same = {path for path, row in facts.rows.items() if store.digests.get(path) == row[1]}
    return lambda question: not (question[0] in _OF_ONE_FILE and question[1] in same)


def _doubts(store: Store, held: Holding, engine: Engine, facts: Facts) -> Doubt:
    """Doubt what can hang on the files that changed, where names mean what they meant; see `program_links`."""
    engine.bits("", 0)
    near = touched(
        {path: store.links[path][2] for path in held.changed}, {path: engine.edges[path] for path in held.changed}
    )
    classes = _changed_classes(store, held, facts)

    changed, names = held.changed, held.names

    def doubt(question: Question) -> bool:  # asked of tens of thousands, most of them of the first two kinds
        kind = question[0]
        if kind == "reaches":
            return near.calls or question[1] in changed
        if kind == "name":
            return question[2] in names or question[1] in changed
        if kind in ("below", "bears"):
            return False
        if kind == "all" or question[3 if kind == "attribute" else 1] in changed:
            return True
        if kind in ("callers", "thread"):
            return question[1:] in (near.called if kind == "callers" else near.handed)
        if kind == "class":
            return classes is None or question[1:] in classes
        return bool(names) and kind not in _OF_ONE_FILE and _says(question, names)

    return doubt


def _changed_classes(store: Store, held: Holding, facts: Facts) -> set[Place] | None:
    """Give the classes that are not as they were, and those below them; None where that is not known."""
    changed = {
        (path, index)
        for path in held.changed
        for index, (old, new) in enumerate(zip(store.links[path][1], facts.head(path).classes, strict=True))
        if old != new
    }
    if changed and store.below is None:
        return None
    return changed | {child for key in changed for child in (store.below or {}).get(key, ())}


def _says(question: Question, names: frozenset[str]) -> bool:
    """Say whether one of some names is a part of what a question asks for."""
    kind, asked = question[0], question[-1]
    if kind in ("name", "attribute"):
        return asked in names
    if kind == "callee":
        return not names.isdisjoint(asked.lstrip("&").split("."))
    return any(not names.isdisjoint(text.split(".")) for text in _texts(asked))


def _texts(value: object) -> Iterator[str]:
    """Give every text in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _texts(part)


def answers_of(engine: Engine, facts: Facts) -> Answers:
    """Answer questions about the program as it is."""

    def of_all(what: str) -> object:
        return sorted(engine.of_all(what, building_keys if what == "building" else without_pipeline))

    def thread(path: str, index: int) -> bool:
        return in_a_thread(engine, path, engine.linker.definition(path, index))

    return Answers(engine, facts.head, of_all, thread)


def store_file(folder: Path, root: Path, models: Iterable[object]) -> Path:
    """Give the file of a tree's store: what judges, and for which Python, is part of its name."""
    parts = (sys.version, *code_stamps(), str(root), *(repr(model) for model in models))
    name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return folder / f"{name}.verdicts"


def load(file: Path) -> Store:
    """Read a store; empty where there is none that is whole."""
    try:
        data = kept_bytes(file, MAX_BYTES)
    except OSError:
        return Store()
    start = len(MARK) + 32
    body = memoryview(data)[start:]
    if not data.startswith(MARK) or hashlib.sha256(body).digest() != data[len(MARK) : start]:
        return Store()
    return Store(*marshal.loads(body))


def save(file: Path, store: Store) -> None:
    """Write a store; whatever goes wrong is nobody's business."""
    try:
        body = marshal.dumps(tuple(getattr(store, item.name) for item in fields(store)))
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
