"""What a verdict rests on: every question that was asked of the program while it was worked out.

A question is a tuple: what a name stands for, what a class is, the text of a definition, who calls it, whether it
reaches an event, and so on. Questions are asked again in a later run; a verdict stands if the answers to all of its
questions are the same. A name that stands for nothing is a question too, so that a new file which defines it is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from meshlint.protocol.facts import ClassFacts, Definition, Node
from meshlint.protocol.link import Linker, Target
from meshlint.protocol.summary import Engine
from meshlint.protocol.unplaced import unplaced
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.protocol.heads import Head

T = TypeVar("T")

Question = tuple[Any, ...]
"""A kind, and what is asked about; plain enough for `marshal`."""


@dataclass(slots=True, eq=False)
class Reads:
    """The questions asked while one thing was worked out, by number, and the things it was made of."""

    own: set[int] = field(default_factory=set)
    uses: list[Reads] = field(default_factory=list)

    def all(self) -> set[int]:
        """Give the questions of this and of everything below."""
        found: set[int] = set()
        seen: set[int] = set()
        stack = [self]
        while stack:
            here = stack.pop()
            if id(here) not in seen:
                seen.add(id(here))
                found |= here.own
                stack += here.uses
        return found


@dataclass(slots=True)
class ConeLinker(Linker):
    """A linker that writes down what it is asked."""

    numbers: dict[Question, int] = field(default_factory=dict)
    _reads: Reads | None = None

    def begin(self) -> tuple[Reads | None, Reads]:
        """Begin to write down apart."""
        around, self._reads = self._reads, Reads()
        return around, self._reads

    def end(self, begun: Any) -> Reads:
        """Go back to what was written before; give what was written since."""
        reads: Reads = begun[1]
        self._reads = begun[0]
        self.used(reads)
        return reads

    def used(self, reads: Any) -> None:
        """Write down that something worked out earlier was used."""
        if self._reads is not None and reads is not None:
            self._reads.uses.append(reads)

    def note(self, *question: Any) -> None:
        """Write one question down."""
        if self._reads is not None:
            self._reads.own.add(self.numbers.setdefault(question, len(self.numbers)))

    def questions(self) -> list[Question]:
        """Give every question that was written down, by number."""
        return list(self.numbers)

    def quietly(self, question: Question, compute: Callable[[], T]) -> T:
        """Write one question down, and nothing that is asked to answer it."""
        reads = self._reads
        if reads is None:
            return compute()
        reads.own.add(self.numbers.setdefault(question, len(self.numbers)))
        self._reads = None
        try:
            return compute()
        finally:
            self._reads = reads

    def name(self, path: str, name: str) -> Target | None:
        """Resolve a module-level name of a file."""
        return self.quietly(("name", path, name), lambda: Linker.name(self, path, name))

    def imported(self, path: str, row: tuple[str, str, str, int]) -> Target:
        """Resolve one import row."""
        return self.quietly(("import", path, row), lambda: Linker.imported(self, path, row))

    def attribute(self, target: Target, name: str) -> Target | None:
        """Resolve `target.name`."""
        asked = ("attribute", target.kind, target.name, target.path, target.index, name)
        return self.quietly(asked, lambda: Linker.attribute(self, target, name))

    def chain(self, path: str, node: Node) -> Target | None:
        """Resolve a chain of names and attributes."""
        return self.quietly(("chain", path, node), lambda: Linker.chain(self, path, node))

    def definition(self, path: str, index: int) -> Definition:
        """Give a definition by its place; a module's own body counts where it is walked."""
        if index:
            self.note("body", path, index)
        return Linker.definition(self, path, index)

    def klass(self, key: tuple[str, int]) -> ClassFacts:
        """Give a class by its place."""
        self.note("class", *key)
        return Linker.klass(self, key)

    def mro(self, key: tuple[str, int]) -> tuple[tuple[str, int], ...]:
        """Give a class and its ancestors."""
        return self.quietly(("class", *key), lambda: Linker.mro(self, key))

    def method(self, key: tuple[str, int], name: str) -> tuple[str, int, tuple[str, int]] | None:
        """Give a method by the receiver's class."""
        return self.quietly(("class", *key), lambda: Linker.method(self, key, name))

    def subclasses(self, key: tuple[str, int]) -> list[tuple[str, int]]:
        """Give all classes below a class."""
        return self.quietly(("below", *key), lambda: Linker.subclasses(self, key))

    def by_name(self, name: str) -> list[tuple[str, int]]:
        """Give the methods that bear a name."""
        return self.quietly(("bears", name), lambda: Linker.by_name(self, name))

    def stores(self, key: tuple[str, int], attribute: str) -> list[tuple[str, int, Node]]:
        """Give what methods store on `self`."""
        return self.quietly(("class", *key), lambda: Linker.stores(self, key, attribute))

    def class_attribute(self, key: tuple[str, int], attribute: str) -> tuple[str, Node] | None:
        """Give the class-level value of an attribute."""
        return self.quietly(("class", *key), lambda: Linker.class_attribute(self, key, attribute))

    def annotation(self, key: tuple[str, int], attribute: str) -> tuple[str, Node] | None:
        """Give the annotation of an attribute."""
        return self.quietly(("class", *key), lambda: Linker.annotation(self, key, attribute))


@dataclass(slots=True)
class Answers:
    """Answers questions about one program, each as a short hash.

    `head` gives the head of a file; `of_all` is what is gathered from all files.
    """

    engine: Engine
    head: Callable[[str], Head]
    of_all: Callable[[str], object]
    in_a_thread: Callable[[str, int], bool]
    _classes: dict[tuple[str, int], bytes] = field(default_factory=dict)

    def __call__(self, question: Question) -> bytes:
        """Give the hash of the answer; that of nothing where what is asked about is not there any more."""
        try:
            return self._hashed(question)
        except (KeyError, IndexError):
            return b""

    def _hashed(self, question: Question) -> bytes:
        kind = question[0]
        if kind == "body":
            return self.head(question[1]).bodies[question[2]]
        if kind == "class":
            return self._class((question[1], question[2]))
        return _hash(self._answer(kind, question[1:]))

    def _answer(self, kind: str, rest: Question) -> object:
        linker = self.engine.linker
        if kind == "name":
            return _plain(linker.name(*rest)) if rest[0] in linker.files else ()
        if kind == "import":
            return _plain(linker.imported(*rest))
        if kind == "attribute":
            return _plain(linker.attribute(Target(*rest[:4]), rest[4]))
        if kind == "chain":
            return _plain(linker.chain(*rest))
        if kind == "below":
            return linker.subclasses((rest[0], rest[1]))
        if kind == "bears":
            return linker.by_name(rest[0])
        if kind == "reaches":
            return self.engine.bits(*rest)
        if kind == "callers":
            return self.engine.callers(*rest)
        if kind == "thread":
            return self.in_a_thread(*rest)
        if kind == "assigned":
            return unplaced(tuple(value for name, value in linker.files[rest[0]].assigns if name == rest[1]))
        if kind == "file":
            head = self.head(rest[0])
            return (head.outline, head.classes, head.bodies, head.note)
        if kind == "callee":
            entry, targets = self.engine.callee(rest[0], linker.files[rest[0]].definitions[rest[1]], rest[2])
            return (None if entry is None else entry.names, targets)
        return self.of_all(rest[0])

    def _class(self, key: tuple[str, int]) -> bytes:
        if key not in self._classes:
            linker = self.engine.linker
            order = linker.mro(key)
            self._classes[key] = _hash([(one, self.head(one[0]).classes[one[1]]) for one in order])
        return self._classes[key]


def _plain(target: Target | None) -> object:
    return None if target is None else (target.kind, target.name, target.path, target.index)


def _hash(value: object) -> bytes:
    return blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
