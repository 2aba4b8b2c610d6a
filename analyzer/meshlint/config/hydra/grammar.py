"""Hydra's override grammar, the part that people write: `[+|++|~]key[=value]` with scalars, lists and maps.

The grammar is hydra-core 1.3's (`hydra/grammar/OverrideLexer.g4`, `OverrideParser.g4`). Sweeps and functions are
recognised and refused with the reason; so is text that Hydra itself would refuse.
"""

from __future__ import annotations

from enum import Enum

from meshlint.config.value import Data
from meshlint.records import dataclass

MAX_CHARS = 100_000
MAX_DEPTH = 50


class Action(str, Enum):
    """What an override does to its key."""

    CHANGE = "change"
    ADD = "add"
    FORCE = "force"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A map `{a: 1}` as written in a value; pairs in order."""

    pairs: tuple[tuple[str, Parsed], ...]


Parsed = Data | Mapped
"""A scalar, a tuple of elements (a list), or a map."""


@dataclass(frozen=True, slots=True)
class Override:
    """One override. `given` says whether a value was written at all; `reason` says why the value is not known."""

    action: Action
    key: str
    package: str | None = None
    value: Parsed = None
    given: bool = True
    reason: str = ""

    @property
    def group_key(self) -> str:
        """Give the key as a config group's override names it: `group` or `group@package`."""
        return self.key if self.package is None else f"{self.key}@{self.package}"


class NotParsed(ValueError):  # noqa: N818 - a diagnostic
    """Text outside the fast path; the message is a clause that says why."""


def parse_override(text: str) -> Override:
    """Read one override; raises NotParsed where the key itself cannot be read."""
    if len(text) > MAX_CHARS:
        raise NotParsed(f"the override has more than {MAX_CHARS:,} characters")
    action, rest = _action(text)
    head, equal, tail = rest.partition("=")
    key, package = _key(head)
    if not equal:
        if action is not Action.DELETE:
            raise NotParsed("it has no `=`")
        return Override(action, key, package, given=False)
    try:
        return Override(action, key, package, parse_value(tail))
    except NotParsed as problem:
        return Override(action, key, package, reason=str(problem))


def _action(text: str) -> tuple[Action, str]:
    if text.startswith("++"):
        return Action.FORCE, text[2:]
    if text.startswith("+"):
        return Action.ADD, text[1:]
    if text.startswith("~"):
        return Action.DELETE, text[1:]
    return Action.CHANGE, text


def _key(head: str) -> tuple[str, str | None]:
    name, at, package = head.partition("@")
    parts = name.split("/")
    if len(parts) > 1:
        if not all(_is_id(p) for p in parts):
            raise NotParsed(f"`{name}` is no config group")
    elif not _is_package(name):
        raise NotParsed(f"`{name}` is no key of Hydra")
    if at and package and not _is_package(package):
        raise NotParsed(f"`{package}` is no package of Hydra")
    return name, package if at else None


def _is_id(text: str) -> bool:
    return (
        bool(text)
        and text.isascii()
        and (text[0].isalpha() or text[0] == "_")
        and all(c.isalnum() or c in "_-" for c in text)
    )


def _is_special(text: str) -> bool:
    return _is_id(text.replace("$", "_"))


def _is_package(text: str) -> bool:
    parts = text.split(".")
    if len(parts) == 1:
        return _is_special(text)
    return all(_is_special(p) or _is_unsigned(p) for p in parts)


def _is_digits(text: str) -> bool:
    """Say whether text is digits with single underscores between them."""
    return bool(text) and text.isascii() and all(part.isdigit() for part in text.split("_"))


def _is_unsigned(text: str) -> bool:
    return text == "0" or (_is_digits(text) and text[0] != "0")


def _is_point(text: str) -> bool:
    whole, point, part = text.partition(".")
    if not point:
        return False
    if not part:
        return _is_unsigned(whole)
    return _is_digits(part) and (not whole or _is_unsigned(whole))


def _is_float(text: str) -> bool:
    if text.lower() in ("inf", "nan") or _is_point(text):
        return True
    base, e, exponent = text.lower().partition("e")
    digits = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    return bool(e) and _is_digits(digits) and (_is_unsigned(base) or _is_point(base))


def scalar(text: str) -> Data:
    """Give an unquoted primitive its type: null, a truth value, a whole number, a float, else text."""
    lower = text.lower()
    if lower == "null":
        return None
    if lower in ("true", "false"):
        return lower == "true"
    bare = text[1:] if text[:1] in ("+", "-") else text
    if _is_unsigned(bare) and len(bare) < 1000:
        return int(text)
    if _is_float(bare):
        return float(text)
    return text


def parse_value(text: str) -> Parsed:
    """Read the value of an override; raises NotParsed outside the fast path."""
    reader = _Reader(text)
    reader.spaces()
    if reader.done:
        return ""
    value = reader.element(0)
    if not reader.done:
        if reader.peek == ",":
            raise NotParsed("it is a sweep over several values")
        raise NotParsed(f"Hydra cannot read it at `{text[reader.place :][:20]}`")
    return value


_PLAIN = frozenset("/-\\+.$%*@?|:_")
"""What may stand in an unquoted primitive besides letters, digits and blanks (`UNQUOTED_CHAR`, ID, COLON)."""
_ESCAPABLE = frozenset("\\()[]{}:=, \t")


class _Reader:
    """A cursor over the text of a value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    @property
    def done(self) -> bool:
        return self.place >= len(self.text)

    @property
    def peek(self) -> str:
        return self.text[self.place] if not self.done else ""

    def spaces(self) -> None:
        while self.peek in (" ", "\t") and not self.done:
            self.place += 1

    def element(self, depth: int) -> Parsed:
        if depth > MAX_DEPTH:
            raise NotParsed(f"it is nested deeper than {MAX_DEPTH} levels")
        if self.peek == "[":
            return self._list(depth)
        if self.peek == "{":
            return self._map(depth)
        if self.peek in ("'", '"') and self.peek:
            return self._quoted()
        return scalar(self._primitive(colons=True)) if not self._escaped else self._primitive(colons=True)

    @property
    def _escaped(self) -> bool:
        """Say whether the primitive ahead is a lone run of escapes, which stays text."""
        return self.peek == "\\"

    def _list(self, depth: int) -> tuple[Parsed, ...]:
        items: list[Parsed] = []
        self.place += 1
        self.spaces()
        while self.peek != "]":
            items.append(self.element(depth + 1))
            self._next("]")
        self.place += 1
        return tuple(items)

    def _map(self, depth: int) -> Mapped:
        pairs: list[tuple[str, Parsed]] = []
        self.place += 1
        self.spaces()
        while self.peek != "}":
            if self.peek in ("'", '"'):
                raise NotParsed("Hydra reads no quoted keys in a map")
            key = self._primitive(colons=False)
            if self.peek != ":":
                raise NotParsed("a map's key has no `:`")
            self.place += 1
            self.spaces()
            pairs.append((str(scalar(key)), self.element(depth + 1)))
            self._next("}")
        self.place += 1
        return Mapped(tuple(pairs))

    def _next(self, closing: str) -> None:
        """Go past the comma to the next element, or stay at the closing bracket."""
        self.spaces()
        if self.peek == closing:
            return
        if self.peek != ",":
            raise NotParsed(f"its `{closing}` is missing")
        self.place += 1
        self.spaces()
        if self.peek == closing:
            raise NotParsed(f"Hydra reads no comma before `{closing}`")

    def _quoted(self) -> str:
        quote, parts = self.peek, []
        self.place += 1
        while not self.done:
            run = 0
            while self.peek == "\\":
                run += 1
                self.place += 1
            if self.peek == quote and not self.done:
                parts.append("\\" * (run // 2))
                self.place += 1
                if run % 2 == 0:
                    return "".join(parts)
                parts.append(quote)
                continue
            parts.append("\\" * run)
            parts.append(self.peek)
            self.place += 1
        raise NotParsed("its quote is not closed")

    def _primitive(self, *, colons: bool) -> str:
        start, kept = self.place, 0
        parts: list[str] = []
        while not self.done:
            char = self.peek
            if char in ",]})" or (char == ":" and not colons):
                break
            if char == "$" and self.text.startswith("${", self.place) and colons:
                char = self._interpolation()
                kept = len(parts) + 1
            elif char == "\\" and self.text[self.place + 1 : self.place + 2] in _ESCAPABLE and not self._at_end(1):
                char = self.text[self.place + 1]
                self.place += 2
                kept = len(parts) + 1
            elif char in (" ", "\t"):
                self.place += 1
            elif char == ":":
                char = self._colon()
                kept = len(parts) + 1
            elif char.isascii() and (char.isalnum() or char in _PLAIN):
                self.place += 1
                kept = len(parts) + 1
            elif char == "(":
                raise NotParsed("it calls a function of Hydra or sweeps")
            else:
                raise NotParsed(f"Hydra cannot read `{char}` outside quotes")
            parts.append(char)
        if not kept:
            raise NotParsed("an element is empty" if start == self.place else "it is blank")
        return "".join(parts[:kept])

    def _colon(self) -> str:
        """Read a colon with the blanks behind it, which the lexer holds to be part of it."""
        start = self.place
        self.place += 1
        self.spaces()
        return self.text[start : self.place]

    def _at_end(self, ahead: int) -> bool:
        return self.place + ahead >= len(self.text)

    def _interpolation(self) -> str:
        end = self.text.find("}", self.place)
        if end <= self.place + 2:
            raise NotParsed("its interpolation is not closed")
        part = self.text[self.place : end + 1]
        self.place = end + 1
        return part
