"""The words of a dotlist, applied to a merged config as Hydra applies them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from meshlint.config.command import Word
from meshlint.config.hydra.flatten import Hole
from meshlint.config.hydra.grammar import Action, Mapped, NotParsed, Override, Parsed, parse_override
from meshlint.config.hydra.interpolation import merged
from meshlint.config.hydra.items import Item, Leaf, Section, listing, section, update
from meshlint.config.value import Kind, Origin, State, Value, unknown
from meshlint.place import Span
from meshlint.records import dataclass

NOWHERE = Span("<command line>", 1)


@dataclass(frozen=True, slots=True)
class Given:
    """One word of the dotlist: the override that it is (None where it is unknown), and its value's provenance."""

    word: Word
    order: int
    override: Override | None

    @property
    def span(self) -> Span:
        """Give the place of the word, the one to edit first."""
        return next((o.span for o in self.word.origins if o.span is not None), NOWHERE)

    def value(self) -> Value:
        """Give the word as a value without data."""
        origins = self.word.origins or (Origin(Kind.OPTION, text=self.word.text or self.word.known),)
        return Value(State.SET, None, origins)


def read(words: Iterable[Word], first: int = 1) -> list[Given]:
    """Read the words of a dotlist; options (`--x`) and words that are no override are left out."""
    given = []
    for order, word in enumerate(words, first):
        if word.text is None:
            given.append(Given(word, order, _partly(word)))
            continue
        if word.text.startswith("-"):
            continue
        try:
            given.append(Given(word, order, parse_override(word.text)))
        except NotParsed:
            continue
    return given


def _partly(word: Word) -> Override | None:
    """Give the override of a word whose key is known and whose value is not; None where the key is not either."""
    if "=" not in word.known or word.several:
        return None
    try:
        override = parse_override(word.known.partition("=")[0] + "=")
    except NotParsed:
        return None
    reason = word.reason or "a part of it is not known"
    return Override(override.action, override.key, override.package, reason=reason)


def apply(root: Section, given: Sequence[Given]) -> tuple[Section, tuple[Hole, ...]]:
    """Apply overrides of keys in order; gives the holes that unknown words leave.

    As in OmegaConf, a key below a reference (`a.b` where `a: ${c}`) replaces the reference by a fresh section.
    """
    holes: list[Hole] = []
    seen: dict[str, tuple[Span, ...]] = {}
    for one in given:
        if one.override is None:
            reason = one.word.reason or "a word of the command is not known"
            holes.append(Hole("*", unknown(reason, *one.word.origins), one.order))
            continue
        if one.override.key.split(".")[0] == "hydra":
            continue
        root = _applied(root, one, again=seen.get(one.override.key) == one.word.home)
        seen[one.override.key] = one.word.home
    return root, tuple(holes)


def _applied(root: Section, one: Given, *, again: bool) -> Section:
    override = one.override
    assert override is not None
    path = tuple(override.key.split("."))
    if override.action is Action.DELETE:
        return update(root, path, lambda _: None)
    value = one.value()
    if override.reason:
        partial = one.word.shape.partition("=")[2].strip("'\"")
        fresh: Item = Leaf(unknown(override.reason, *value.origins, partial=partial), one.order)
    else:
        fresh = _item(override.value, value, one.order)
    return update(root, path, lambda before: _over(before, fresh, again=again))


def _over(before: Item | None, fresh: Item, *, again: bool) -> Item:
    """Put a value over another: maps merge; a second word of one list keeps the first as an earlier value."""
    if isinstance(fresh, Section) and isinstance(before, Section):
        return merged(before, fresh)
    if again and isinstance(before, Leaf) and isinstance(fresh, Leaf) and before.order:
        return Leaf(fresh.value, fresh.order, (*before.earlier, before.value))
    return fresh


def _item(parsed: Parsed, value: Value, order: int) -> Item:
    if isinstance(parsed, Mapped):
        entries = {name: _item(below, value, order) for name, below in parsed.pairs}
        return section(entries, value.origins[0], order)
    if isinstance(parsed, tuple):
        return listing(tuple(_item(p, value, order) for p in parsed), value, order)
    return Leaf(value.with_data(parsed), order)
