"""Conditions: `[ ]`, `[[ ]]` and `test`, decided where their operands are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from meshlint.records import dataclass
from meshlint.sources.shell import arithmetic, pattern
from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.state import Shell
from meshlint.sources.shell.term import (
    Assume,
    Atoms,
    Lit,
    Node,
    Opaque,
    Pass,
    Truth,
    Undecided,
    Unk,
    cases,
    conj,
    disj,
    fields,
    join_truth,
    negate,
    plain,
    settle,
)
from meshlint.sources.shell.words import EXPANSIONS, QUOTES, pattern_atoms, word

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
}
TEXTUAL = ("=", "==", "!=", "<", ">", "=~")
FILES = tuple("-" + c for c in "abcdefghkprstuwxGLNOS")
UNARY = ("-z", "-n", "-v", "-o", *FILES)
BINARY = (*NUMERIC, *TEXTUAL, "-nt", "-ot", "-ef")
_INNER = frozenset({"binary_expression", "unary_expression", "parenthesized_expression", "negated_command"})


@dataclass(frozen=True, slots=True)
class Token:
    """An operator (with its text) or an operand (with its value)."""

    text: str
    mark: Mark
    atoms: Atoms | None = None
    pattern: Atoms | None = None
    quoted: bool = True

    @property
    def key(self) -> str:
        """Give a name that equal values share."""
        if self.atoms is None:
            return self.text
        return "\0".join(_key(a) for a in self.atoms)


def _key(atom: object) -> str:
    if isinstance(atom, Lit):
        return "'" + atom.text
    return atom.key if isinstance(atom, Unk) else f"id:{id(atom)}"


def test(shell: Shell, node: Syntax) -> Truth:
    """Decide a test command."""
    double = shell.text(node.children[0]) == "[["
    tokens = list(_tokens(shell, node.children[1:-1], double))
    return decide(shell, tokens, shell.mark(node), double)


def _tokens(shell: Shell, nodes: Sequence[Syntax], double: bool) -> Iterator[Token]:
    for node in nodes:
        if node.type in _INNER:
            yield from _tokens(shell, node.children, double)
        elif not node.is_named or node.type == "test_operator":
            yield Token(shell.text(node), shell.mark(node))
        else:
            yield _operand(shell, node, double)


def _operand(shell: Shell, node: Syntax, double: bool) -> Token:
    mark = shell.mark(node)
    wanted = None
    if double or node.type in ("extglob_pattern", "regex"):
        wanted = pattern_atoms(shell, mark.start, mark.end, [node])
    if node.type in ("extglob_pattern", "regex") and not any(c in shell.text(node) for c in "$\"'"):
        return Token(shell.text(node), mark, wanted, wanted)
    quoted = double or node.type in QUOTES
    return Token(shell.text(node), mark, word(shell, node, quoted), wanted, quoted or node.type not in EXPANSIONS)


def decide(shell: Shell, tokens: list[Token], mark: Mark, double: bool) -> Truth:
    """Decide a token list; a list that is no test is false, as it fails in the shell."""
    machine = _Grammar(shell, tokens, mark, double)
    truth = machine.either()
    return truth if machine.at == len(tokens) else machine.open(tokens, None)


class _Grammar:
    """The grammar of tests: or, and, not, parentheses, one to three operands."""

    def __init__(self, shell: Shell, tokens: list[Token], mark: Mark, double: bool) -> None:
        self.shell = shell
        self.tokens = tokens
        self.mark = mark
        self.double = double
        self.at = 0
        self.nesting = 0

    def peek(self, ahead: int = 0) -> str:
        token = self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None
        return token.text if token is not None and token.atoms is None else ""

    def either(self) -> Truth:
        truth = self.both()
        while self.peek() in ("||", "-o"):
            self.at += 1
            truth = disj(truth, self.both())
        return truth

    def both(self) -> Truth:
        truth = self.single()
        while self.peek() in ("&&", "-a"):
            self.at += 1
            truth = conj(truth, self.single())
        return truth

    def single(self) -> Truth:
        self.nesting += 1
        if self.nesting > 30:
            return self.open(self.tokens, None)
        operator = self.peek()
        if operator == "!":
            self.at += 1
            return negate(self.single())
        if operator == "(":
            self.at += 1
            truth = self.either()
            self.at += self.peek() == ")"
            return truth
        if operator in UNARY and self.at + 1 < len(self.tokens):
            self.at += 2
            return self.unary(operator, self.tokens[self.at - 1])
        if self.peek(1) in BINARY and self.at + 2 < len(self.tokens):
            self.at += 3
            return self.binary(*self.tokens[self.at - 3 : self.at])
        if self.at >= len(self.tokens):
            return False
        self.at += 1
        return self.unary("-n", self.tokens[self.at - 1], bare=True)

    def unary(self, operator: str, token: Token, bare: bool = False) -> Truth:
        atoms = token.atoms if token.atoms is not None else (Lit(token.text),)
        if operator == "-v":
            return self.is_set(token)
        if operator not in ("-z", "-n"):
            return self.open([Token(operator, token.mark), token], None)
        soft = self.soft_emptiness(atoms, token)
        if soft is not None:
            return soft if operator == "-z" else negate(soft)
        vanishes = not token.quoted and not self.double and not bare

        def build(known: Assume) -> Truth:
            text = plain(atoms, known)
            if not text and vanishes:
                return True
            return (text == "") is (operator == "-z")

        return self.attempt(build, [Token(operator, token.mark), token])

    def soft_emptiness(self, atoms: Atoms, token: Token) -> Truth | None:
        """Answer `is it empty?` for a variable from outside: it counts as unset, unless that ends the script."""
        texts = [a for a in atoms if not (isinstance(a, Lit) and not a.text)]
        if len(texts) != 1:
            return None
        first = texts[0]
        if isinstance(first, Unk) and first.key.startswith("env:"):
            key, caveat = first.key, first.optional
        elif isinstance(first, Pass):
            key, caveat = first.key, first.caveat
        else:
            return None
        cond = self.shell.cond(f"empty:{key}", f"-z {token.text}", self.mark, caveat=caveat)
        return Node(cond, True, False)

    def is_set(self, token: Token) -> Truth:
        name = token.text
        var = self.shell.state.variables.get(name)
        if var is not None:
            return not var.unset
        unk = self.shell.lookup(name).atoms
        found = self.soft_emptiness(unk, token)
        return negate(found) if found is not None else True

    def binary(self, left: Token, operator: Token, right: Token) -> Truth:
        one = left.atoms if left.atoms is not None else (Lit(left.text),)
        wanted = right.pattern if self.double and operator.text in ("=", "==", "!=") else right.atoms
        other = wanted if wanted is not None else (Lit(right.text),)
        lost = not self.double and not (left.quoted and right.quoted)

        def build(known: Assume) -> Truth:
            texts = plain(one, known), plain(other, known)
            if lost and (_gone(left, texts[0], known) or _gone(right, texts[1], known)):
                return False
            return self.compare(operator.text, *texts, known=known)

        return self.attempt(build, [left, operator, right])

    def compare(self, operator: str, one: str, other: str, known: Assume) -> bool:
        if operator in NUMERIC:
            return NUMERIC[operator](self.number(one, known), self.number(other, known))
        if operator in ("=", "==", "!="):
            same = pattern.matches(other, one) if self.double else one == other
            return same is (operator != "!=")
        if operator in ("<", ">"):
            return one < other if operator == "<" else one > other
        if operator == "=~":
            return _regex(one, other)
        raise pattern.Unsupported(operator)

    def number(self, text: str, known: Assume) -> int:
        if self.double:
            return arithmetic.evaluate(
                text, lambda name: arithmetic.number(plain(self.shell.lookup(name).atoms, known))
            )
        if not text.strip().lstrip("+-").isdecimal():
            raise _Failed
        try:
            return int(text) if len(text) < 20 else 0
        except ValueError:  # several signs
            raise _Failed from None

    def attempt(self, build: Callable[[Assume], Truth], tokens: list[Token]) -> Truth:
        """Decide in every open case; a case that touches an unknown gets a condition of its own."""

        def guarded(known: Assume) -> Truth:
            try:
                return build(known)
            except _Failed:
                return False
            except (Opaque, pattern.Unsupported, arithmetic.NoNumber):
                return self.open(tokens, known)

        try:
            return cases(guarded, self.shell.state.assume, join_truth)
        except Opaque:
            return self.open(tokens, None)

    def open(self, tokens: list[Token], known: Assume | None) -> Truth:
        settled = [_settled(t, known) for t in tokens]
        negated = len(settled) == 3 and settled[1].text == "!="
        keys = ["==" if t.atoms is None and t.text in ("=", "!=") else t.key for t in settled]
        text = " ".join(self.mark.document.text[self.mark.start : self.mark.end].split())
        shown = text.replace("!=", "=", 1) if negated else text
        cond = self.shell.cond("test:" + "\1".join(keys), shown, self.mark, _fact(settled))
        return Node(cond, not negated, negated)


class _Failed(Exception):  # noqa: N818 - the shell prints an error, and the test is false
    """A test that the shell refuses."""


def _gone(token: Token, text: str, known: Assume) -> bool:
    return not token.quoted and not text


def _settled(token: Token, known: Assume | None) -> Token:
    if token.atoms is None or known is None:
        return token
    try:
        return Token(token.text, token.mark, tuple(settle(token.atoms, known)), token.pattern, token.quoted)
    except Undecided:
        return token


def _fact(tokens: list[Token]) -> tuple[str, str] | None:
    """Give what an equation with a plain text says of an unknown."""
    if len(tokens) != 3 or tokens[1].text not in ("=", "==", "!="):
        return None
    left, right = (
        [a for a in t.atoms or () if not (isinstance(a, Lit) and not a.text)] for t in (tokens[0], tokens[2])
    )
    if len(left) != 1 or not isinstance(left[0], Unk) or not all(isinstance(a, Lit) for a in right):
        return None
    text = "".join(a.text for a in right if isinstance(a, Lit))
    return None if any(c in text for c in "*?[\\") else (left[0].key, text)


def _regex(text: str, expression: str) -> bool:
    """Match the few regular expressions that need no engine: digits, and plain text with its anchors."""
    if expression in ("^[0-9]+$", "^[[:digit:]]+$"):
        return text.isascii() and text.isdigit()
    front, back = expression.startswith("^"), expression.endswith("$")
    body = expression[front : len(expression) - back]
    if any(c in body for c in ".*+?[](){}|\\^$"):
        raise pattern.Unsupported(expression)
    if front and back:
        return text == body
    if front:
        return text.startswith(body)
    return text.endswith(body) if back else body in text


def words_test(shell: Shell, atoms: Atoms, mark: Mark) -> Truth:
    """Decide the `test` builtin from its words."""
    try:
        words = fields(settle(atoms, shell.state.assume))
    except Undecided as stop:
        return Node(stop.cond, True, False)
    tokens = []
    for field in words:
        text = "".join(a.text for a in field if isinstance(a, Lit))
        whole = all(isinstance(a, Lit) for a in field)
        operator = whole and (text in BINARY or text in UNARY or text in ("!", "(", ")", "-a", "-o"))
        tokens.append(Token(text, mark, None if operator else field))
    return decide(shell, tokens, mark, double=False)
