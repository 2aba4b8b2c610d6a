"""The rules of a run: those of every installed pack, narrowed by what a person selected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache

from meshlint.engine.packs import Pack, packs
from meshlint.finding import RuleInfo
from meshlint.records import dataclass
from meshlint.rule import LaunchChangeRule, LaunchRule, ProgramChangeRule, ProgramRule, Rule
from meshlint.words import meant


class UnknownRule(Exception):  # noqa: N818 - shown as one sentence
    """A code or family that no installed rule has."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Every installed rule, by code, and the codes that are judged in this run."""

    rules: tuple[type[Rule], ...]
    selected: frozenset[str]
    narrowed: bool = False
    """The command line left rules out, so that this run says nothing about unused suppressions."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why each rule that is not selected is not: `preview`, `ignored` or `not selected`, by code."""

    def about_launches(self) -> bool:
        """Say whether any selected rule needs launches: all but those about source and about changes do."""
        others = (ProgramRule, ProgramChangeRule, LaunchChangeRule)
        return any(not issubclass(rule, others) and rule.code in self.selected for rule in self.rules)

    def launch_rules(self) -> list[LaunchRule]:
        """Give the selected rules about launches."""
        return [rule() for rule in self.rules if issubclass(rule, LaunchRule) and rule.code in self.selected]

    def program_rules(self) -> list[ProgramRule]:
        """Give the selected rules about Python source."""
        return [rule() for rule in self.rules if issubclass(rule, ProgramRule) and rule.code in self.selected]

    def change_rules(self) -> tuple[list[LaunchChangeRule], list[ProgramChangeRule]]:
        """Give the selected rules about changes: those about launches, and those about Python source."""
        chosen = [rule for rule in self.rules if rule.code in self.selected]
        launches = [rule() for rule in chosen if issubclass(rule, LaunchChangeRule)]
        return launches, [rule() for rule in chosen if issubclass(rule, ProgramChangeRule)]

    def get(self, code: str) -> type[Rule] | None:
        """Give a rule by its code."""
        return next((rule for rule in self.rules if rule.code == code), None)


def load() -> tuple[type[Rule], ...]:
    """Give every installed rule, in order of code; the first pack that brings a code keeps it."""
    return _load(tuple(packs()))


@cache
def _load(packs: tuple[Pack, ...]) -> tuple[type[Rule], ...]:
    found: dict[str, type[Rule]] = {}
    for entry in packs:
        for rule in entry.load()():
            found.setdefault(rule.code, rule)
    return tuple(found[code] for code in sorted(found))


def narrow(
    rules: tuple[type[Rule], ...],
    select: Sequence[str] | None = None,
    extend: Sequence[str] = (),
    ignore: Sequence[str] = (),
    preview: bool = False,
) -> RuleSet:
    """Choose rules by code, family (`HCP`) or `ALL`; a code goes before a family, and `ignore` before `select`.

    `ALL` holds the rules in preview only where `preview` is asked for. Raises UnknownRule, with the nearest code, for
    a word that names nothing.
    """
    wanted = _matches(rules, ("ALL",) if select is None else select, preview) | _matches(rules, extend, preview)
    for word in ignore:
        gone = _matches(rules, (word,), True)
        exact = {*(select or ()), *extend}
        wanted -= {code for code in gone if word == code or code not in exact}
    ignored = _matches(rules, ignore, True)
    with_preview = _matches(rules, ("ALL",) if select is None else select, True)
    left_out = {code: _why_not(code, ignored, with_preview) for code in _matches(rules, ("ALL",), True) - wanted}
    return RuleSet(rules, frozenset(wanted), left_out=dict(sorted(left_out.items())))


def _why_not(code: str, ignored: set[str], with_preview: set[str]) -> str:
    """Say why a rule is not judged; `with_preview` are the codes that `--preview` would bring."""
    if code in ignored:
        return "ignored"
    return "preview" if code in with_preview else "not selected"


def codes(rules: tuple[type[Rule], ...], words: Iterable[str]) -> frozenset[str]:
    """Give the codes that words name, those of rules in preview too; raises UnknownRule."""
    return frozenset(_matches(rules, words, True))


def _matches(rules: tuple[type[Rule], ...], words: Iterable[str], preview: bool) -> set[str]:
    found: set[str] = set()
    for word in words:
        hits = {rule.code for rule in rules if word in (rule.code, rule.family(), rule.slug)}
        if word == "ALL":
            hits = {rule.code for rule in rules if preview or not rule.preview}
        elif not hits:
            raise UnknownRule(f"there is no rule `{word}`{nearest(rules, word)}")
        found |= hits
    return found


def nearest(rules: Iterable[type[Rule]], word: str) -> str:
    """Give `; did you mean X?`, or nothing where no code is near; a code with fewer zeros is that code."""
    known = tuple(rules)
    letters = word.rstrip("0123456789").upper()
    number = word[len(letters) :][:9]
    code = f"{letters}{int(number):03}" if number.isascii() and number.isdigit() else ""
    if any(rule.code == code for rule in known) and code != word:
        return f"; did you mean `{code}`?"
    family = [rule.code for rule in known if rule.family() == word]
    if family:
        return f"; it is a family, {family[0]} to {family[-1]}" if len(family) > 1 else f"; did you mean `{family[0]}`?"
    return meant(word, sorted({n for rule in known for n in (rule.code, rule.slug, rule.family())}), tell_all=False)


def describe(rules: Iterable[type[Rule]]) -> tuple[RuleInfo, ...]:
    """Give what reports say of the rules."""
    return tuple(RuleInfo(r.code, r.slug, r.severity, summary(r), page(r)) for r in rules)


def summary(rule: type[Rule]) -> str:
    """Give the first sentence of a rule's page."""
    return " ".join((rule.__doc__ or "").strip().split("\n\n")[0].split())


def page(rule: type[Rule]) -> str:
    """Give the address of a rule's page, relative to the docs."""
    return f"rules/{rule.code}.md"
