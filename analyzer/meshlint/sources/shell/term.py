"""Values of an abstract shell: text with its places, unknowns, and values that hang on an undecided condition.

A value is a sequence of atoms. Literals know the file that wrote them; a `Choice` holds what a variable is in each
arm of an `if` that could not be decided, so that arms which no training command looks at cost nothing. Only when a
command is asked for its words are choices resolved, one variant for each way that they can go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from meshlint.records import dataclass
from meshlint.sources.shell.document import Document, Mark, Spot

MAX_USES = 4
MAX_DEPTH = 40
"""Undecided conditions that one value may hang on; past them it is unknown."""
MAX_SIZE = 20_000
"""Atoms of one value, whichever way its conditions go."""
MAX_CASES = 32
"""Ways that the operands of one computation may go; past them its result is unknown."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Cond:
    """A condition that cannot be decided. `fact` is (key of an unknown, text) where it says that they are equal."""

    number: int
    text: str
    mark: Mark
    fact: tuple[str, str] | None = None
    caveat: str = ""
    """Not empty where it counts as true unless somebody sets what the caveat names."""


Assume = Mapping[Cond, bool]


@dataclass(frozen=True, slots=True, eq=False)
class Lit:
    """Known text. `exact` says that it stands letter for letter at its mark; `split` that it falls apart at blanks."""

    text: str
    mark: Mark | None = None
    exact: bool = True
    uses: tuple[Mark, ...] = ()
    split: bool | None = False

    def slice(self, start: int, end: int) -> Lit:
        """Give a part of it, with the place of that part."""
        mark = self.mark
        if mark is not None and self.exact and not mark.shown:
            mark = Mark(mark.document, mark.start + start, mark.start + end, mark.caveat)
        return Lit(self.text[start:end], mark, self.exact, self.uses, self.split)

    def spots(self) -> Iterator[Spot]:
        """Give the places that made it: where it is written first, then the uses."""
        if self.mark is not None:
            yield from self.mark.spots()
        for use in self.uses:
            yield from use.spots()


@dataclass(frozen=True, slots=True, eq=False)
class Unk:
    """Unknown text. Equal keys are equal values. `optional` says what would set it where nothing need do so."""

    reason: str
    key: str
    uses: tuple[Mark, ...] = ()
    split: bool | None = False
    several: bool = False
    optional: str = ""

    def spots(self) -> Iterator[Spot]:
        """Give the places that it came through."""
        for use in self.uses:
            yield from use.spots()


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One value where `cond` holds, another where it does not."""

    cond: Cond
    yes: Atoms
    no: Atoms
    depth: int
    size: int
    listed: bool
    """Whether a border between words lies in an arm."""
    uses: tuple[Mark, ...] = ()
    split: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """The border between two words."""


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """Something from outside that counts as empty: the script's own arguments, or a variable that nobody need set.

    It leaves no text; `caveat` says what would. Unquoted (`split`), it could bring words of its own.
    """

    mark: Mark
    key: str = "argv"
    caveat: str = "the script's own arguments"
    split: bool | None = True


Atom = Lit | Unk | Choice | Break | Pass
Atoms = tuple[Atom, ...]
BREAK = Break()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A truth that hangs on a condition."""

    cond: Cond
    yes: Truth
    no: Truth


Truth = bool | Node


class Undecided(Exception):  # noqa: N818 - control flow: try both ways
    """A computation touched a choice that is open."""

    def __init__(self, cond: Cond) -> None:
        super().__init__(cond.text)
        self.cond = cond


class Opaque(Exception):  # noqa: N818 - control flow: the third truth value
    """A computation touched something unknown."""

    def __init__(self, unk: Unk) -> None:
        super().__init__(unk.reason)
        self.unk = unk


def literal(text: str) -> Lit:
    """Make text that nobody wrote."""
    return Lit(text)


def depth(atoms: Atoms) -> int:
    """Give how many choices lie inside each other."""
    return max((a.depth for a in atoms if isinstance(a, Choice)), default=0)


def size(atoms: Atoms) -> int:
    """Give how many atoms a value has at most, once its choices are decided."""
    return sum(a.size if isinstance(a, Choice) else 1 for a in atoms)


def is_list(atoms: Atoms) -> bool:
    """Say whether a value has a border between words in it."""
    return any(isinstance(a, Break) or (isinstance(a, Choice) and a.listed) for a in atoms)


def choose(cond: Cond, yes: Atoms, no: Atoms) -> Atoms:
    """Give the value that is `yes` where the condition holds and `no` elsewhere; what both share stays outside."""
    front = 0
    while front < min(len(yes), len(no)) and yes[front] is no[front]:
        front += 1
    back = 0
    while back < min(len(yes), len(no)) - front and yes[-1 - back] is no[-1 - back]:
        back += 1
    if front or back:
        return (*yes[:front], *_choice(cond, _middle(yes, front, back), _middle(no, front, back)), *_end(yes, back))
    return _choice(cond, yes, no)


def _middle(atoms: Atoms, front: int, back: int) -> Atoms:
    return atoms[front : len(atoms) - back]


def _end(atoms: Atoms, back: int) -> Atoms:
    return atoms[len(atoms) - back :]


def _choice(cond: Cond, yes: Atoms, no: Atoms) -> Atoms:
    if not yes and not no:
        return ()
    level = 1 + max(depth(yes), depth(no))
    volume = max(size(yes), size(no))
    if level > MAX_DEPTH or volume > MAX_SIZE:
        reason = (
            f"it depends on more than {MAX_DEPTH} undecided conditions" if level > MAX_DEPTH else "it grows too long"
        )
        return (Unk(reason, f"deep:{cond.number}:{id(yes)}", (cond.mark,), several=True),)
    return (Choice(cond, yes, no, level, volume, is_list(yes) or is_list(no)),)


def select(truth: Truth, yes: Atoms, no: Atoms) -> Atoms:
    """Give the value that follows a truth."""
    if isinstance(truth, Node):
        return choose(truth.cond, select(truth.yes, yes, no), select(truth.no, yes, no))
    return yes if truth else no


def conj(one: Truth, other: Truth) -> Truth:
    """Give `one and other`."""
    return branch(one, other, False)


def disj(one: Truth, other: Truth) -> Truth:
    """Give `one or other`."""
    return branch(one, True, other)


def negate(truth: Truth) -> Truth:
    """Give `not truth`."""
    return branch(truth, False, True)


def branch(truth: Truth, yes: Truth, no: Truth) -> Truth:
    """Give `yes if truth else no`, simplified."""
    if not isinstance(truth, Node):
        return yes if truth else no
    high, low = branch(truth.yes, yes, no), branch(truth.no, yes, no)
    return high if high is low else Node(truth.cond, high, low)


def under(truth: Truth, assume: Assume) -> Truth:
    """Simplify a truth by what is assumed."""
    while isinstance(truth, Node):
        known = implied(truth.cond, assume)
        if known is None:
            high, low = under(truth.yes, assume), under(truth.no, assume)
            return high if high is low else Node(truth.cond, high, low)
        truth = truth.yes if known else truth.no
    return truth


def implied(cond: Cond, assume: Assume) -> bool | None:
    """Say what the assumptions make of a condition: two equations for one unknown exclude each other."""
    if cond in assume:
        return assume[cond]
    if cond.fact is None:
        return None
    for other, holds in assume.items():
        if holds and other.fact is not None and other.fact[0] == cond.fact[0]:
            return other.fact[1] == cond.fact[1]
    return None


def forced(truth: Truth, wanted: bool) -> dict[Cond, bool]:
    """Give what must hold for a truth to come out as wanted."""
    found: dict[Cond, bool] = {}
    while isinstance(truth, Node):
        high, low = can_be(truth.yes, wanted), can_be(truth.no, wanted)
        if high == low:
            break
        found[truth.cond] = high
        truth = truth.yes if high else truth.no
    return found


def can_be(truth: Truth, wanted: bool) -> bool:
    """Say whether a truth can come out as wanted."""
    if isinstance(truth, Node):
        return can_be(truth.yes, wanted) or can_be(truth.no, wanted)
    return truth is wanted


def use(atoms: Iterable[Atom], mark: Mark | None, split: bool | None) -> Atoms:
    """Pass a value through an expansion at `mark`; `split` None leaves each word border as it is."""
    return tuple(_use(a, mark, split) for a in atoms)


def _use(atom: Atom, mark: Mark | None, split: bool | None) -> Atom:
    if isinstance(atom, Break):
        return atom
    if isinstance(atom, Pass):
        return atom if split is None else replace(atom, split=split)
    uses = atom.uses if mark is None or len(atom.uses) >= MAX_USES else (*atom.uses, mark)
    kept = atom.split if split is None else split
    if isinstance(atom, Choice):
        return Choice(atom.cond, atom.yes, atom.no, atom.depth, atom.size, atom.listed, uses, kept)
    if isinstance(atom, Lit):
        return Lit(atom.text, atom.mark, atom.exact, uses, kept)
    return Unk(atom.reason, atom.key, uses, kept, atom.several, atom.optional)


def settle(atoms: Atoms, assume: Assume) -> Iterator[Lit | Unk | Break | Pass]:
    """Give the atoms with every choice decided; raises Undecided at the first that is open."""
    for atom in atoms:
        if not isinstance(atom, Choice):
            yield atom
            continue
        known = implied(atom.cond, assume)
        if known is None:
            raise Undecided(atom.cond)
        for inner in settle(atom.yes if known else atom.no, assume):
            yield _within(inner, atom)


def _within(atom: Lit | Unk | Break | Pass, choice: Choice) -> Lit | Unk | Break | Pass:
    if isinstance(atom, Break) or (not choice.uses and choice.split is None):
        return atom
    if isinstance(atom, Pass):
        return atom if choice.split is None else replace(atom, split=choice.split)
    uses = (*atom.uses, *choice.uses)[:MAX_USES]
    return replace(atom, uses=uses, split=atom.split if choice.split is None else choice.split)


def plain(atoms: Atoms, assume: Assume) -> str:
    """Give a value's text; raises Undecided, or Opaque where part of it is unknown."""
    parts = []
    for atom in settle(atoms, assume):
        if isinstance(atom, Unk):
            raise Opaque(atom)
        if isinstance(atom, Lit):
            parts.append(atom.text)
        elif isinstance(atom, Break):
            parts.append(" ")
    return "".join(parts)


def cases(build: Callable[[Assume], T], assume: Assume, join: Callable[[Cond, T, T], T]) -> T:
    """Compute over values that hang on conditions: once for each way that the touched ones can go.

    Raises Opaque where `build` does on the only way, or where there are more than MAX_CASES ways.
    """
    budget = [MAX_CASES]

    def run(known: dict[Cond, bool]) -> T:
        try:
            return build(known)
        except Undecided as stop:
            budget[0] -= 1
            if budget[0] <= 0:
                raise Opaque(Unk("it depends on too many undecided conditions", f"cases:{stop.cond.number}")) from None
            return join(stop.cond, run({**known, stop.cond: True}), run({**known, stop.cond: False}))

    return run(dict(assume))


def join_atoms(cond: Cond, yes: Atoms, no: Atoms) -> Atoms:
    """Join two values for `cases`."""
    return choose(cond, yes, no)


def join_truth(cond: Cond, yes: Truth, no: Truth) -> Truth:
    """Join two truths for `cases`."""
    return yes if yes is no else Node(cond, yes, no)


Field = tuple[Lit | Unk, ...]


def fields(atoms: Iterable[Lit | Unk | Break | Pass], separators: str = " \t\n") -> list[Field]:
    """Cut settled atoms into words, as word splitting does; `Pass` atoms leave nothing."""
    words: list[Field] = []
    current: list[Lit | Unk] = []
    for atom in atoms:
        if isinstance(atom, Break):
            if current:
                words.append(tuple(current))
            current = []
        elif isinstance(atom, Unk):
            current.append(atom)
        elif isinstance(atom, Lit):
            if atom.split:
                current = _split(atom, separators, words, current)
            else:
                current.append(atom)
    if current:
        words.append(tuple(current))
    return words


def _split(lit: Lit, separators: str, words: list[Field], current: list[Lit | Unk]) -> list[Lit | Unk]:
    text, start = lit.text, 0
    for index, char in enumerate(text):
        if char not in separators:
            continue
        if index > start:
            current.append(lit.slice(start, index))
        if current:
            words.append(tuple(current))
            current = []
        elif not char.isspace():
            words.append((Lit("", lit.mark, False, lit.uses),))
        start = index + 1
    if start < len(text):
        current.append(lit.slice(start, len(text)))
    return current


def pack(words: Sequence[Field]) -> Atoms:
    """Put words together again, each kept whole."""
    packed: list[Atom] = []
    for index, word in enumerate(words):
        if index:
            packed.append(BREAK)
        packed.extend(_use(a, None, False) for a in word)
        if all(isinstance(a, Lit) and not a.text for a in word):
            packed.append(Lit(""))
    return tuple(packed)


def text_only(atoms: Atoms) -> Atoms:
    """Give a list as one text, its words joined by blanks, as an assignment does."""
    return _text_only(atoms, {})


def _text_only(atoms: Atoms, memo: dict[tuple[int, int], tuple[Atoms, Atoms]]) -> Atoms:
    return tuple(_as_text(a, memo) for a in atoms) if is_list(atoms) else atoms


def _as_text(atom: Atom, memo: dict[tuple[int, int], tuple[Atoms, Atoms]]) -> Atom:
    if isinstance(atom, Break):
        return Lit(" ")
    if not isinstance(atom, Choice) or not atom.listed:
        return atom
    key = (id(atom.yes), id(atom.no))
    if key not in memo:
        memo[key] = _text_only(atom.yes, memo), _text_only(atom.no, memo)
    yes, no = memo[key]
    return replace(atom, yes=yes, no=no, listed=False)


def has_choice(atoms: Atoms) -> bool:
    """Say whether a value hangs on anything."""
    return any(isinstance(a, Choice) for a in atoms)


def document_literals(document: Document, start: int, end: int, split: bool = False, holes: bool = True) -> Atoms:
    """Give a stretch of a document as it stands, with what its placeholders stand for.

    `split` is for the literals, `holes` for the placeholders: an unquoted one falls apart at blanks.
    """
    if not document.segments:
        return (Lit(document.text[start:end], Mark(document, start, end), split=split),) if end > start else ()
    found: list[Atom] = []
    for low, high, lit in document.pieces(start, end):
        if lit is None:
            continue
        hole = document.holes.get(lit.text)
        found.append(_use(lit.slice(low, high), None, split) if hole is None else _use(hole, None, holes))
    return tuple(found)
