"""Resolving a command: its words, for each way that the conditions it hangs on can go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.shell.document import Spot
from meshlint.sources.shell.state import Reached, State, guard
from meshlint.sources.shell.state import nodes as open_conds
from meshlint.sources.shell.term import (
    BREAK,
    Assume,
    Atom,
    Atoms,
    Break,
    Choice,
    Cond,
    Field,
    Lit,
    Pass,
    Truth,
    Unk,
    fields,
    implied,
    under,
    use,
)

MAX_VARIANTS = 16
MAX_SPOTS = 8
Settled = Lit | Unk | Break | Pass
Relevant = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its text, or None with the reason; `known` is then the part before the unknown one."""

    text: str | None
    reason: str = ""
    known: str = ""
    several: bool = False
    field: Field = field(default=(), compare=False)

    def shape(self, hole: str) -> str:
        """Give the whole word, with `hole` for each stretch that is unknown."""
        return "".join(a.text if isinstance(a, Lit) else hole for a in self.field)

    def spots(self) -> tuple[Spot, ...]:
        """Give the places that made it, that of its value first: what stands behind the first `=`."""
        return _spots(self.field)

    def home(self) -> tuple[Span, ...]:
        """Give the expansions that its beginning came through; none where it is written on the command itself."""
        first = self.field[0] if self.field else None
        uses = first.uses if isinstance(first, Lit | Unk) else ()
        return tuple(spot.span for use in uses for spot in use.spots() if spot.span is not None)


@dataclass(frozen=True, slots=True)
class Arm:
    """The way that an undecided condition goes in a variant."""

    text: str
    taken: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Variant:
    """A command's words, for one way that the undecided conditions go.

    `wrappers` are the commands that start the script around it, outermost first; `directives` the job's SBATCH
    options; `passed` is the place where words from outside enter, and what gives them; None where none do.
    """

    words: tuple[Word, ...]
    assume: Mapping[Cond, bool]
    joined: frozenset[Cond]
    state: State
    wrappers: tuple[tuple[Word, ...], ...]
    directives: tuple[Word, ...]
    passed: tuple[int, str] | None = None

    def arms(self) -> tuple[Arm, ...]:
        """Give the conditions that this variant settles, in the order of the script."""
        inside = {c for t, _ in self.state.guards for c in open_conds(t)}
        return tuple(
            Arm(c.text, way, c.mark.document.span(c.mark.start, c.mark.end))
            for c, way in self.assume.items()
            if c not in self.state.assume or c in inside
        )

    def environment(self) -> dict[str, Word]:
        """Give the exported variables."""
        exported = {name: var for name, var in self.state.variables.items() if var.exported}
        resolver = _Resolver(self.joined)
        return {name: resolver.one(var.atoms, self.assume) for name, var in exported.items()}


def variants(reached: Reached, watch: Sequence[str], relevant: Relevant | None) -> list[Variant]:
    """Give the variants of a command that differ in words, wrappers or watched variables."""
    state = reached.state
    watched = tuple(a for name in watch if (var := state.variables.get(name)) is not None for a in var.atoms)
    outer = tuple(a for wrapper in (*reached.wrappers, *reached.directives) for a in wrapper)
    wanted = _relevant(reached.atoms, relevant) if relevant is not None else None
    if wanted is not None:
        wanted |= _all_conds((*outer, *watched)) | set(open_conds(guard(state)))
    leaves, joined = _ways((*reached.atoms, *outer, *watched), state, wanted)
    resolver = _Resolver(joined)
    found: dict[object, Variant] = {}
    for assume in leaves:
        variant = resolver.variant(reached, assume)
        key = (variant.words, variant.wrappers, tuple(_watched(variant, n) for n in watch))
        found.setdefault(key, variant)
    return list(found.values())


def _watched(variant: Variant, name: str) -> Word | None:
    var = variant.state.variables.get(name)
    return None if var is None else _Resolver(variant.joined).one(var.atoms, variant.assume)


# Which ways there are -------------------------------------------------------------------------------------------


def _all_conds(atoms: Atoms) -> set[Cond]:
    return set(_reach(atoms, {}, {}))


def _reach(atoms: Atoms, assume: Assume, seen: dict[tuple[int, int, int], Atom]) -> Iterator[Cond]:
    """Give every open condition that a value can come to; `seen` keeps the choices that were visited."""
    for atom in atoms:
        if not isinstance(atom, Choice):
            continue
        key = (atom.cond.number, id(atom.yes), id(atom.no))
        if key in seen:
            continue
        seen[key] = atom
        known = implied(atom.cond, assume)
        if known is None:
            yield atom.cond
        if known is not False:
            yield from _reach(atom.yes, assume, seen)
        if known is not True:
            yield from _reach(atom.no, assume, seen)


def _relevant(atoms: Atoms, relevant: Relevant) -> set[Cond]:
    """Give the conditions that touch a relevant flag, or words that are no flags."""
    found: set[Cond] = set()
    last = ""
    for atom in atoms:
        if isinstance(atom, Lit):
            last = _last_flag(atom.text) or last
        elif isinstance(atom, Choice):
            mine = list(_reach((atom,), {}, {}))
            names, other = _touched(atom)
            if any(map(relevant, names)) or (other and (not last or relevant(last))):
                found.update(mine)
            last = names[-1] if names else last
    return found


def _last_flag(text: str) -> str:
    words = text.split()
    return next((w.partition("=")[0] for w in reversed(words) if w.startswith("--")), "")


def _touched(choice: Choice) -> tuple[list[str], bool]:
    """Give the flags in a choice's arms, and whether an arm begins with something else."""
    names: dict[str, None] = {}
    other = False
    stack: list[Atoms] = [choice.yes, choice.no]
    seen = {id(choice.yes), id(choice.no)}
    while stack:
        atoms = stack.pop()
        first = True
        for atom in atoms:
            if isinstance(atom, Lit):
                words = atom.text.split()
                names.update(dict.fromkeys(w.partition("=")[0] for w in words if w.startswith("--")))
                other = other or (first and bool(words) and not words[0].startswith("-"))
                first = first and not words
            elif isinstance(atom, Unk):
                other = other or first
                first = False
            elif isinstance(atom, Choice):
                stack += [arm for arm in (atom.yes, atom.no) if id(arm) not in seen]
                seen |= {id(atom.yes), id(atom.no)}
    return list(names), other


def _ways(atoms: Atoms, state: State, wanted: set[Cond] | None) -> tuple[list[dict[Cond, bool]], frozenset[Cond]]:
    """Give the ways that the conditions a value hangs on can go, at most MAX_VARIANTS, and those left open."""
    allowed = guard(state)
    every = {c.number: c for c in (*open_conds(allowed), *_reach(atoms, state.assume, {}))}
    joined = {c for c in every.values() if wanted is not None and c not in wanted}
    atoms = tuple(a for a in atoms if isinstance(a, Choice))
    leaves = [_Leaf.of(dict(state.assume), atoms, allowed)]
    for number in sorted(every):
        cond = every[number]
        if cond in joined:
            continue
        if len(leaves) + sum(leaf.meets(cond) for leaf in leaves) > MAX_VARIANTS:
            joined.add(cond)
        else:
            leaves = [new for leaf in leaves for new in leaf.split(cond, atoms, allowed)]
    return [leaf.assume for leaf in leaves], frozenset(joined)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One way so far, and the conditions that it still comes to."""

    assume: dict[Cond, bool]
    open: frozenset[Cond]

    @staticmethod
    def of(assume: dict[Cond, bool], atoms: Atoms, allowed: Truth) -> _Leaf:
        """Make a leaf of assumptions."""
        return _Leaf(assume, frozenset((*open_conds(under(allowed, assume)), *_reach(atoms, assume, {}))))

    def meets(self, cond: Cond) -> bool:
        """Say whether it comes to a condition that it has not decided."""
        return cond in self.open and implied(cond, self.assume) is None

    def split(self, cond: Cond, atoms: Atoms, allowed: Truth) -> list[_Leaf]:
        """Give the leaves for both ways of a condition, or this one where it does not come to it."""
        known = implied(cond, self.assume)
        if known is not None:
            return [_Leaf({**self.assume, cond: known}, self.open)]
        if cond not in self.open:
            return [self]
        ways = [{**self.assume, cond: way} for way in (True, False)]
        return [_Leaf.of(w, atoms, allowed) for w in ways if under(allowed, w) is not False]


# Words under one way --------------------------------------------------------------------------------------------


class _Resolver:
    """Resolves values under assumptions; what it made once it gives again, so that variants share their words."""

    def __init__(self, joined: frozenset[Cond]) -> None:
        self.joined = joined
        self.words: dict[tuple[int, ...], Word] = {}
        self.split: dict[tuple[int, int], tuple[Settled, ...]] = {}
        self.arms: dict[tuple[int, int, int, bool | None, int], tuple[tuple[Settled, ...], ...]] = {}
        self.ways: dict[tuple[int, bool | None], Choice] = {}
        self.kept: list[object] = []

    def variant(self, reached: Reached, assume: dict[Cond, bool]) -> Variant:
        words, passed = self.line(reached.atoms, assume)
        wrappers = tuple(self.line(w, assume)[0] for w in reached.wrappers)
        directives = tuple(w for d in reached.directives for w in self.line(d, assume)[0])
        return Variant(words, assume, self.joined, reached.state, wrappers, directives, passed)

    def one(self, atoms: Atoms, assume: Assume) -> Word:
        """Give a value as one word."""
        settled = self.settle(use(atoms, None, False), assume)
        return self.word(tuple(a for a in settled if isinstance(a, Lit | Unk)))

    def line(self, atoms: Atoms, assume: Assume) -> tuple[tuple[Word, ...], tuple[int, str] | None]:
        settled = list(self.settle(atoms, assume))
        passed: tuple[int, str] | None = None
        for index, atom in enumerate(settled):
            if isinstance(atom, Pass) and atom.split:
                passed = len(fields(settled[:index])), atom.caveat
        return tuple(self.word(f) for f in fields(settled)), passed

    def settle(self, atoms: Atoms, assume: Assume, split: bool | None = None) -> Iterator[Settled]:
        """Decide every choice; one that is left open becomes what its arms have in common.

        `split` is how the value around them is used, None where each says so itself.
        """
        for atom in atoms:
            if not isinstance(atom, Choice):
                yield from self.cut(atom, None)
                continue
            known = implied(atom.cond, assume)
            inner = atom.split if split is None else split
            if known is None:
                yield from self.either(atom, assume, inner)
                continue
            for part in self.settle(atom.yes if known else atom.no, assume, inner):
                yield from self.cut(part, atom)

    def cut(self, atom: Settled, choice: Choice | None) -> tuple[Settled, ...]:
        """Pass an atom through a choice's uses, and cut it at its blanks, so that its parts are made only once."""
        key = (id(atom), id(choice))
        known = self.split.get(key)
        if known is None:
            self.kept.append((atom, choice))
            known = self.split[key] = tuple(_cut(_through(atom, choice)))
        return known

    def either(self, choice: Choice, assume: Assume, split: bool | None) -> Iterator[Settled]:
        """Give what both arms of an open choice have in common; flags that only one has, or otherwise, are unknown."""
        choice = choice if split is choice.split else self.used(choice, split)
        key = (choice.cond.number, id(choice.yes), id(choice.no), split, id(assume))
        if key not in self.arms:
            self.kept.append(choice)
            self.arms[key] = tuple(tuple(self.settle(arm, assume, split)) for arm in (choice.yes, choice.no))
        arms = [[p for a in arm for p in self.cut(a, choice)] for arm in self.arms[key]]
        reason = f"it depends on `{choice.cond.text}`, one of too many undecided conditions"
        unk = Unk(reason, f"either:{choice.cond.number}", (choice.cond.mark, *choice.uses)[:4], choice.split)
        if not choice.split and not choice.listed:
            yield unk
            return
        parts = [_segments(fields(arm)) for arm in arms]
        if any("" in part for part in parts):
            yield replace(unk, split=True)
            return
        yield BREAK
        for name in dict.fromkeys((*parts[0], *parts[1])):
            words = parts[0].get(name) or parts[1][name]
            if _text(parts[0].get(name)) != _text(parts[1].get(name)):
                words = [(*_front(words[0], len(name)), Lit("="), replace(unk, split=False))]
            for word in words:
                yield from word
                yield BREAK

    def used(self, choice: Choice, split: bool | None) -> Choice:
        """Give a choice with another way of falling apart, the same object every time."""
        key = (id(choice), split)
        known = self.ways.get(key)
        if known is None:
            self.kept.append(choice)
            known = self.ways[key] = replace(choice, split=split)
        return known

    def word(self, parts: Field) -> Word:
        key = tuple(id(a) for a in parts)
        known = self.words.get(key)
        if known is None:
            self.kept.append(parts)
            known = self.words[key] = _word(parts)
        return known


def _through(atom: Settled, choice: Choice | None) -> Settled:
    if choice is None or isinstance(atom, Break):
        return atom
    (found,) = use((atom,), None, choice.split)
    for mark in choice.uses:
        (found,) = use((found,), mark, None)
    assert not isinstance(found, Choice)
    return found


def _whole(lit: Lit) -> Lit:
    return Lit(lit.text, lit.mark, lit.exact, lit.uses, False)


def _cut(atom: Settled) -> Iterator[Settled]:
    if not isinstance(atom, Lit) or not atom.split or not atom.text:
        yield atom
        return
    parts = atom.text.split()
    if parts == [atom.text]:
        yield _whole(atom)
        return
    words = fields((atom,)) if parts else []
    if atom.text[0].isspace():
        yield BREAK
    for index, word in enumerate(words):
        if index:
            yield BREAK
        yield from (_whole(part) if isinstance(part, Lit) else part for part in word)
    if words and atom.text[-1].isspace():
        yield BREAK


def _segments(words: list[Field]) -> dict[str, list[Field]]:
    """Cut an option list into its flags, each with its values; words before the first flag go under no name."""
    found: dict[str, list[Field]] = {}
    name = ""
    for word in words:
        text = "".join(a.text for a in word if isinstance(a, Lit))
        if text.startswith("--") or "=" in text:
            name = text.partition("=")[0]
            found[name] = []
        found.setdefault(name, []).append(word)
    return found


def _front(word: Field, size: int) -> Field:
    """Give the first characters of a word, each with its place."""
    found: list[Lit | Unk] = []
    for atom in word:
        if not isinstance(atom, Lit) or size <= 0:
            break
        found.append(atom.slice(0, min(size, len(atom.text))))
        size -= len(atom.text)
    return tuple(found)


def _text(words: list[Field] | None) -> object:
    return None if words is None else [[a.text if isinstance(a, Lit) else a.key for a in w] for w in words]


def _word(field: Field) -> Word:
    unk = next((a for a in field if isinstance(a, Unk)), None)
    if unk is None:
        return Word("".join(a.text for a in field if isinstance(a, Lit)), field=field)
    at = field.index(unk)
    known = "".join(a.text for a in field[:at] if isinstance(a, Lit))
    alone = all(isinstance(a, Unk) or not a.text for a in field)
    several = alone and any(isinstance(a, Unk) and (a.several or a.split) for a in field)
    return Word(None, unk.reason, known, several, field)


def _spots(field: Field) -> tuple[Spot, ...]:
    """Give the places of a word, those of its value first: what stands behind the first `=`."""
    ordered = _value_first(field)
    spots: dict[tuple[Span | None, str], Spot] = {}
    for atom in [a for a in ordered if not isinstance(a, Lit) or a.text] or ordered:
        for spot in atom.spots():
            spots.setdefault((spot.span, spot.caveat), spot)
    return tuple(spots.values())[:MAX_SPOTS]


def _value_first(field: Field) -> list[Lit | Unk]:
    for index, atom in enumerate(field):
        at = atom.text.find("=") + 1 if isinstance(atom, Lit) else 0
        if at and isinstance(atom, Lit):
            value = [atom.slice(at, len(atom.text))] if at < len(atom.text) else []
            return [*value, *field[index + 1 :], *field[:index], atom.slice(0, at)]
    return list(field)
