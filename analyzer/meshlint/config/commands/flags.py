"""Reading flags as argparse does: `--flag value`, `--flag=value`, `--flag a b c`, bare flags, repeated flags."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from meshlint.config.command import Word
from meshlint.config.launch import Write
from meshlint.config.value import Origin, State, Value, unknown
from meshlint.place import Span
from meshlint.records import dataclass

_OPTION_NAMES = ("ARGS", "OPTION", "OPTIONS", "OPTS", "FLAG", "FLAGS", "EXTRA", "PARAMS", "OVERRIDES")


PARSER = "Megatron-LM's parser"
"""Its flags have dashes, all that a canonical field reads; `--use-checkpoint-opt_param-scheduler`, with underscores, is
none of them (arguments.py at core_v0.10.0 to core_v0.16.1; training_config.py on main)."""


def names(*rows: str) -> frozenset[str]:
    """Make a table of names from rows of them."""
    return frozenset(name for row in rows for name in row.split())


@dataclass(frozen=True, slots=True)
class Grammar:
    """What is known of a parser's flags: those that take a list, and those that take nothing. Keys, not flags.

    `dashed` names a parser that knows a flag by its dashes only: argparse takes an underscore for another letter.
    """

    lists: Collection[str] = ()
    bare: Collection[str] = ()
    dashed: str = ""


def writes(words: Sequence[Word], grammar: Grammar) -> tuple[Write, ...]:
    """Give a write for each flag, in order; what cannot be known writes `*` at its place."""
    return tuple(_mark_repeated(_read(words, grammar)))


def _mark_repeated(found: Iterator[tuple[Write, Word]]) -> Iterator[Write]:
    seen: dict[str, tuple[Span, ...]] = {}
    for write, word in found:
        again = write.key != "*" and seen.get(write.key) == word.home
        yield replace(write, same_place=True) if again else write
        seen[write.key] = word.home


def _read(words: Sequence[Word], grammar: Grammar) -> Iterator[tuple[Write, Word]]:
    """Give each write with the word of its flag."""
    place = 0
    while place < len(words):
        word = words[place]
        text = word.text if word.text is not None else word.known
        place += 1
        if is_flag(text):
            key, value, place = _flag(words, place, word, text, grammar)
            yield Write(key, misspelt(text, value, grammar)), word
            if place < len(words) and _hides_flags(words[place - 1], key, grammar) and value.is_unknown:
                yield Write("*", value), word
        elif word.text is None and (not word.known or word.known[:1] == "-"):
            yield Write("*", word.value()), word


def is_flag(text: str) -> bool:
    """Say whether a word is a flag: two dashes, or one and a letter; a negative number is none."""
    return (text.startswith("--") and len(text) > 2) or (text[:1] == "-" and text[1:2].isalpha())


def key_of(text: str) -> str:
    """Give the key of a flag: no dashes in front, underscores inside."""
    return text.lstrip("-").replace("-", "_")


def keys_of(words: Sequence[Word]) -> set[str]:
    """Give the keys of the flags that are known and spelt with dashes."""
    flags = (word.text.partition("=")[0] for word in words if word.text is not None and word.text[:2] == "--")
    return {key_of(flag) for flag in flags if "_" not in flag}


def misspelt(text: str, value: Value, grammar: Grammar) -> Value:
    """Give the value of a flag; unknown where the parser has no flag of this spelling."""
    flag = text.partition("=")[0]
    if not grammar.dashed or "_" not in flag or flag[:2] != "--":
        return value
    dashes = flag.replace("_", "-")
    return unknown(f"`{flag}` is no flag of {grammar.dashed}, which spells it `{dashes}`", *value.origins)


def _flag(words: Sequence[Word], place: int, word: Word, text: str, grammar: Grammar) -> tuple[str, Value, int]:
    name, equals, rest = text.partition("=")
    key = key_of(name)
    if equals:
        return key, _listed(key, [_behind_equals(word, rest)], grammar), place
    if word.text is None:
        return "*", word.value(), place
    values: list[Value] = []
    while place < len(words) and _belongs(words[place], values, key, grammar):
        values.append(words[place].value())
        place += 1
    if not values:
        return key, Value(State.SET, True, word.origins), place
    return key, _listed(key, values, grammar), place


def _behind_equals(word: Word, text: str) -> Value:
    if word.text is not None:
        return Value(State.SET, text, word.origins)
    return unknown(word.reason, *word.origins, partial=word.shape.partition("=")[2])


def _belongs(word: Word, values: list[Value], key: str, grammar: Grammar) -> bool:
    if word.text is not None:
        return not is_flag(word.text)
    if word.known:
        return not is_flag(word.known)
    if key in grammar.bare or looks_like_options(word):
        return False
    return not values or not word.several or key in grammar.lists


def _hides_flags(word: Word, key: str, grammar: Grammar) -> bool:
    return word.text is None and word.several and key in grammar.bare


def looks_like_options(word: Word) -> bool:
    """Say whether an unknown word is named as one that holds flags of its own."""
    if not word.several:
        return False
    text = word.origins[0].text if word.origins else ""
    return "[@]" in text or "[*]" in text or text.strip('${}"').upper().endswith(_OPTION_NAMES)


def _listed(key: str, values: list[Value], grammar: Grammar) -> Value:
    for value in values:
        if value.is_unknown:
            return value
    origins: dict[Origin, None] = {o: None for v in values for o in v.origins}
    if len(values) == 1 and key not in grammar.lists:
        return values[0]
    return Value(State.SET, tuple(v.data for v in values), tuple(origins))
