"""Shell arithmetic over known numbers: 64-bit, with assignments; anything else is refused."""

from __future__ import annotations

import operator as op
from collections.abc import Callable

MAX_LENGTH = 400
MAX_NESTING = 15
_OPERATORS = (
    *("<<=", ">>=", "**"),
    *("<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="),
    *"+-*/%<>=!~&|^?:(),",
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_LEVEL = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_ASSIGN = ("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=")


_PLAIN: dict[str, Callable[[int, int], int | bool]] = {
    "+": op.add,
    "-": op.sub,
    "*": op.mul,
    "==": op.eq,
    "!=": op.ne,
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
    "&": op.and_,
    "|": op.or_,
    "^": op.xor,
}


class NoNumber(Exception):  # noqa: N818 - the caller makes it an unknown
    """An expression that is no arithmetic, or that divides by zero."""


def evaluate(text: str, read: Callable[[str], int], write: Callable[[str, int], None] | None = None) -> int:
    """Give the value; `read` gives a variable's number, `write` takes an assignment. Raises NoNumber."""
    tokens = _tokens(text)
    if not tokens:
        return 0
    machine = _Machine(tokens, read, write)
    value = machine.comma()
    if machine.peek():
        raise NoNumber(text)
    return value


def number(text: str) -> int:
    """Read a number as the shell does: decimal, 0x, octal, base#digits."""
    text = text.strip()
    sign = -1 if text[:1] == "-" else 1
    digits = text.lstrip("+-")
    if not digits:
        return 0
    try:
        if "#" in digits:
            base, _, rest = digits.partition("#")
            return sign * int(rest, int(base))
        if digits[:2].lower() == "0x":
            return sign * int(digits[2:], 16)
        if len(digits) > 20 or "_" in digits:
            raise NoNumber(text)
        return sign * int(digits, 8 if digits[0] == "0" and len(digits) > 1 else 10)
    except ValueError:
        raise NoNumber(text) from None


def _tokens(text: str) -> list[str]:
    if len(text) > MAX_LENGTH:
        raise NoNumber(text)
    found: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace() or char in '\\"' or _names_variable(text, at):
            at += 1
        elif char.isascii() and (char.isalnum() or char == "_"):
            end = at
            while end < len(text) and (text[end].isalnum() or text[end] in "_#"):
                end += 1
            found.append(text[at:end])
            at = end
        else:
            operator = next((o for o in _OPERATORS if text.startswith(o, at)), None)
            if operator is None:
                raise NoNumber(text)
            found.append(operator)
            at += len(operator)
    return found


def _names_variable(text: str, at: int) -> bool:
    """Say whether a `$` stands in front of a name: in arithmetic it changes nothing."""
    return text[at] == "$" and (text[at + 1 : at + 2].isalpha() or text[at + 1 : at + 2] == "_")


class _Machine:
    def __init__(self, tokens: list[str], read: Callable[[str], int], write: Callable[[str, int], None] | None) -> None:
        self.tokens = tokens
        self.at = 0
        self.read = read
        self.write = write
        self.nesting = 0
        self.live = True

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if wanted and token not in wanted:
            return ""
        self.at += 1
        return token

    def comma(self) -> int:
        value = self.assignment()
        while self.take(","):
            value = self.assignment()
        return value

    def assignment(self) -> int:
        name = self.peek()
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""
        if after not in _ASSIGN or not _is_name(name):
            return self.ternary()
        self.at += 2
        value = self.assignment()
        if after != "=":
            value = _apply(after[:-1], self.fetch(name), value)
        self.store(name, value)
        return value

    def ternary(self) -> int:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise NoNumber("nested too deeply")
        test = self.binary(0)
        if self.take("?"):
            yes = self.guarded(self.assignment, test != 0)
            if not self.take(":"):
                raise NoNumber("? without :")
            no = self.guarded(self.ternary, test == 0)
            test = yes if test else no
        self.nesting -= 1
        return test

    def guarded(self, part: Callable[[], int], live: bool) -> int:
        before = self.live
        self.live = before and live
        try:
            return part()
        finally:
            self.live = before

    def binary(self, lowest: int) -> int:
        value = self.power()
        while (level := _LEVEL.get(self.peek(), -1)) >= lowest:
            value = self.operation(self.take(), value, level + 1)
        return value

    def operation(self, operator: str, value: int, lowest: int) -> int:
        if operator in ("&&", "||"):
            needed = (value != 0) is (operator == "&&")
            other = self.guarded(lambda: self.binary(lowest), needed)
            return int(bool(other) if needed else operator == "||")
        other = self.binary(lowest)
        return _apply(operator, value, other) if self.live else 0

    def power(self) -> int:
        base = self.unary()
        if self.take("**"):
            exponent = self.power()
            if not 0 <= exponent <= 62 or abs(base) > 1 << 31:
                raise NoNumber("power")
            return _wrap(base**exponent)
        return base

    def unary(self) -> int:
        operator = self.take("!", "~", "-", "+", "++", "--")
        if operator in ("++", "--"):
            name = self.take()
            if not _is_name(name):
                raise NoNumber(name)
            value = self.fetch(name) + (1 if operator == "++" else -1)
            self.store(name, value)
            return value
        if operator:
            self.nesting += 1
            if self.nesting > MAX_NESTING:
                raise NoNumber("nested too deeply")
            value = self.unary()
            self.nesting -= 1
            return {"!": int(not value), "~": ~value, "-": -value, "+": value}[operator]
        return self.primary()

    def primary(self) -> int:
        token = self.take()
        if token == "(":
            value = self.comma()
            if not self.take(")"):
                raise NoNumber("( without )")
            return value
        if not token or not (token[0].isalnum() or token[0] == "_"):
            raise NoNumber(token)
        if not _is_name(token):
            return number(token)
        value = self.fetch(token)
        if self.peek() in ("++", "--"):
            self.store(token, value + (1 if self.take() == "++" else -1))
        return value

    def fetch(self, name: str) -> int:
        return self.read(name) if self.live else 0

    def store(self, name: str, value: int) -> None:
        if not self.live:
            return
        if self.write is None:
            raise NoNumber("an assignment")
        self.write(name, _wrap(value))


def _is_name(token: str) -> bool:
    return bool(token) and (token[0].isalpha() or token[0] == "_")


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _apply(operator: str, one: int, other: int) -> int:
    if operator in ("/", "%"):
        if other == 0:
            raise NoNumber("division by zero")
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        return _wrap(quotient if operator == "/" else one - other * quotient)
    if operator in ("<<", ">>"):
        if not 0 <= other < 64:
            raise NoNumber("shift")
        return _wrap(one << other if operator == "<<" else one >> other)
    return _wrap(int(_PLAIN[operator](one, other)))
