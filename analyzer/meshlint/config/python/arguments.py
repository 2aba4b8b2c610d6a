"""`argparse`: the options that a script declares, and what a command line, or none, makes of them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.config.python.machine import CallSite
from meshlint.config.python.values import (
    NONE,
    ClassVal,
    External,
    Func,
    Leaf,
    Parser,
    Record,
    Seq,
    Unknown,
    Val,
    sequence,
)
from meshlint.config.value import Data
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.config.python.calls import Calls

Word = Leaf | Unknown


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One option or positional argument of a parser."""

    flags: tuple[str, ...]
    dest: str
    action: str
    kind: Val | None
    count: Data
    fallback: Val
    required: bool


def parser(machine: Calls, site: CallSite) -> Val:
    """Make a parser."""
    return Parser({"options": (), "defaults": {}})


def method(machine: Calls, receiver: Parser, name: str, site: CallSite) -> Val | None:
    """Give what a parser's method gives; a function that fills a parser is not remembered."""
    machine.asked += 1
    if name == "add_argument":
        option = _option(machine, site)
        if option is not None:
            machine.put(receiver.state, "options", (*receiver.state["options"], option))
        return NONE
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return receiver
    if name == "set_defaults":
        machine.put(receiver.state, "defaults", {**receiver.state["defaults"], **site.kwargs})
        return NONE
    if name in ("parse_args", "parse_known_args"):
        given = _given(machine, site)
        names, rest = _parsed(machine, receiver, given, site)
        return names if name == "parse_args" else sequence("tuple", (names, rest))
    if name == "error":
        return Unknown("the parser ends the program here")
    return None


def _option(machine: Calls, site: CallSite) -> Option | None:
    flags = tuple(str(a.data) for a in site.args if isinstance(a, Leaf))
    if not flags:
        return None
    dest = site.kwargs.get("dest")
    long = next((f for f in flags if f.startswith("--")), flags[0])
    name = str(dest.data) if isinstance(dest, Leaf) else long.lstrip("-").replace("-", "_")
    action = site.kwargs.get("action")
    kind = site.kwargs.get("type")
    count = site.kwargs.get("nargs")
    required = site.kwargs.get("required")
    how = str(action.data) if isinstance(action, Leaf) else action.name if isinstance(action, External) else "store"
    fallback = site.kwargs.get("default", Leaf(how == "store_false") if how in ("store_true", "store_false") else NONE)
    return Option(
        flags,
        name,
        how,
        kind,
        count.data if isinstance(count, Leaf) else None,
        fallback,
        (isinstance(required, Leaf) and bool(required.data)) or not flags[0].startswith("-"),
    )


def _given(machine: Calls, site: CallSite) -> tuple[Word, ...] | None:
    """Give the words to parse: those handed over, else the command's; None where a script is judged alone."""
    handed = site.argument(0, "args")
    if isinstance(handed, Seq):
        return tuple(i if isinstance(i, Leaf) else Unknown("a word is not known", several=True) for i in handed.items)
    return machine.argv


def _parsed(machine: Calls, receiver: Parser, given: tuple[Word, ...] | None, site: CallSite) -> tuple[Record, Seq]:
    names = Record("Namespace", origins=(machine.origin(site.node),))
    options: tuple[Option, ...] = receiver.state["options"]
    for option in options:
        machine.write(names, option.dest, _fallback(option, given is None))
    for dest, value in receiver.state["defaults"].items():
        machine.write(names, dest, value)
    rest = _read(machine, names, options, given) if given is not None else []
    return names, sequence("list", tuple(rest))


def _fallback(option: Option, alone: bool) -> Val:
    if option.required and alone:
        return Unknown(f"`{option.flags[0]}` is given on the command line")
    value = option.fallback
    if alone and isinstance(value, Leaf) and value.origins:
        caveat = f"{option.flags[-1]} on the command line"
        return replace(value, origins=(replace(value.origins[0], caveat=caveat), *value.origins[1:]))
    return value


def _read(machine: Calls, names: Record, options: tuple[Option, ...], given: tuple[Word, ...]) -> list[Word]:
    words = list(given)
    rest: list[Word] = []
    places = [o for o in options if not o.flags[0].startswith("-")]
    while words:
        word = words.pop(0)
        text = word.data if isinstance(word, Leaf) else None
        if not isinstance(text, str):
            _unknown_word(machine, names, options, word, rest)
            continue
        flag, equals, inline = text.partition("=")
        option = _named(options, flag) if text.startswith("-") else None
        if option is not None:
            values: list[Word] = [Leaf(inline, word.origins)] if equals else []
            machine.write(names, option.dest, _value(machine, option, values, words, word))
        elif places and not text.startswith("-"):
            machine.write(names, places[0].dest, _value(machine, places.pop(0), [word], words, word))
        else:
            rest.append(word)
    return rest


def _unknown_word(machine: Calls, names: Record, options: tuple[Option, ...], word: Word, rest: list[Word]) -> None:
    """Place a word that is not known: `--flag=` and `key=` before the unknown part tell what it sets."""
    reason = word.reason if isinstance(word, Unknown) else "a word is not known"
    known = word.pieces[0].text if isinstance(word, Unknown) and word.pieces else ""
    flag, equals, _ = (known or "").partition("=")
    option = _named(options, flag) if equals and flag.startswith("-") else None
    if option is not None:
        machine.write(names, option.dest, Unknown(reason, word.origins))
        return
    rest.append(word)
    if not equals:
        machine.taint(names, reason)


def _named(options: tuple[Option, ...], flag: str) -> Option | None:
    exact = next((o for o in options if flag in o.flags), None)
    if exact is not None or not flag.startswith("--"):
        return exact
    near = [o for o in options if any(f.startswith(flag) for f in o.flags)]
    return near[0] if len(near) == 1 else None


def _value(machine: Calls, option: Option, values: list[Word], words: list[Word], word: Word) -> Val:
    if option.action in ("store_true", "store_false"):
        return Leaf(option.action == "store_true", word.origins)
    if option.action == "BooleanOptionalAction":
        text = word.data if isinstance(word, Leaf) else ""
        return Leaf(not str(text).startswith("--no-"), word.origins)
    if option.count in ("*", "+") or isinstance(option.count, int):
        limit = option.count if isinstance(option.count, int) else len(words)
        while words and limit > 0 and not _is_flag(words[0]):
            values.append(words.pop(0))
            limit -= 1
        return sequence("list", tuple(_typed(machine, option, v) for v in values), word.origins)
    if not values and words and not (option.count == "?" and _is_flag(words[0])):
        values.append(words.pop(0))
    return _typed(machine, option, values[0]) if values else Unknown("its value is missing", word.origins)


def _is_flag(word: Word) -> bool:
    return isinstance(word, Leaf) and str(word.data).startswith("--")


def _typed(machine: Calls, option: Option, word: Word) -> Val:
    """Give a word as the option's `type` reads it: a plain type, or a function of the tree that is called."""
    kind = option.kind
    if not isinstance(word, Leaf) or kind is None:
        return word
    if isinstance(kind, External):
        if kind.name in ("str", "Path"):
            return word
        plain = {"int": int, "float": float}.get(kind.name)
        try:
            if plain is not None and len(str(word.data)) < 40:
                return replace(word, data=plain(word.data), pieces=())
        except ValueError:
            return Unknown(f"{word.data!r} is no {kind.name}", word.origins)
        return Unknown(f"`{kind.name}` reads {word.data!r} in its own way", word.origins)
    read = machine.call(kind, CallSite(machine.caches.call(_node_of(kind)), (word,), {}))
    if isinstance(read, Leaf):
        return replace(read, origins=word.origins)
    return Unknown(read.reason, word.origins) if isinstance(read, Unknown) else read


def _node_of(kind: Val) -> ast.AST:
    """Give a node that stands for the call of a reader, one for each reader."""
    return kind.node if isinstance(kind, Func | ClassVal) else _ANYWHERE


_ANYWHERE = ast.Name("type", ast.Load(), lineno=1, col_offset=0, end_lineno=1, end_col_offset=1)
