"""The forms of `$...` and `${...}`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from meshlint.sources.shell import pattern
from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.numbers import arithmetic_range, arithmetic_value
from meshlint.sources.shell.parameters import Target, target
from meshlint.sources.shell.state import Shell
from meshlint.sources.shell.term import (
    Assume,
    Atoms,
    Break,
    Choice,
    Lit,
    Opaque,
    Pass,
    Truth,
    Unk,
    cases,
    fields,
    has_choice,
    join_truth,
    pack,
    plain,
    select,
    settle,
    use,
)
from meshlint.sources.shell.values import computed, joined, lifted, listed
from meshlint.sources.shell.words import (
    EXPANSIONS,
    QUOTES,
    dequoted,
    gaps,
    pattern_atoms,
    reread,
    unquoted,
    with_home,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def expand(shell: Shell, node: Node, quoted: bool) -> Atoms:
    """Evaluate one `$...`."""
    kind = node.type
    if kind == "simple_expansion":
        return _finish(shell, node, target(shell, node.children[-1]), quoted)
    if kind == "expansion":
        return _braced(shell, node, quoted)
    text = shell.text(node)
    if kind == "arithmetic_expansion":
        open_, close = (3, 2) if text.startswith("$((") else (2, 1)
        return arithmetic_value(shell, node, open_, close, quoted)
    if kind == "command_substitution" and text.startswith("$((") and text.endswith("))"):
        return _again(shell, node, quoted)
    if kind == "command_substitution":
        assert shell.capture is not None
        return use(shell.capture(shell, node), shell.mark(node), split=not quoted)
    return (shell.unknown("the output of a process is not known before the run", node),)


def _finish(shell: Shell, node: Node, found: Target, quoted: bool) -> Atoms:
    mark = shell.mark(node)
    shell.walk(found.atoms)
    if found.form == "*" and quoted:
        return use(joined(shell, found.atoms), mark, split=False)
    if found.form == "@" and quoted:
        return use(found.atoms, mark, split=None)
    return use(found.atoms, mark, split=not quoted)


def _braced(shell: Shell, node: Node, quoted: bool) -> Atoms:
    inner = list(node.children[1:-1])
    prefix = ""
    if len(inner) > 1 and inner[0].type in ("#", "!"):
        prefix = inner.pop(0).type
    if not inner:
        return (shell.unknown("it is not valid bash", node),)
    found = target(shell, inner[0])
    if prefix:
        return use(_prefixed(shell, node, prefix, found), shell.mark(node), split=not quoted)
    rest = inner[1:]
    if not rest:
        return _finish(shell, node, found, quoted)
    return _operated(shell, node, found, rest, quoted)


def _prefixed(shell: Shell, node: Node, prefix: str, found: Target) -> Atoms:
    if prefix == "#" and found.form:
        return lifted(shell, lambda known: (Lit(str(_length(found, known)), shell.mark(node), exact=False),))
    if prefix == "#":
        return lifted(shell, lambda known: (Lit(str(len(plain(found.atoms, known))), shell.mark(node), exact=False),))
    if found.form and found.var is not None and found.var.table is not None:
        return listed([Lit(key) for key in found.var.table])
    if found.form:
        return lifted(shell, lambda known: listed([Lit(str(i)) for i in range(_length(found, known))]))
    return lifted(shell, lambda known: shell.lookup(plain(found.atoms, known)).atoms)


def _length(found: Target, known: Assume) -> int:
    if found.var is not None and found.var.table is not None:
        return len(found.var.table)
    words = fields(settle(found.atoms, known))
    for atom in (a for w in words for a in w):
        if isinstance(atom, Unk) and (atom.several or atom.split):
            raise Opaque(atom)
    return len(words)


def _operated(shell: Shell, node: Node, found: Target, rest: list[Node], quoted: bool) -> Atoms:
    operator = shell.text(rest[0])
    start, end = shell.mark(rest[0]).end, shell.mark(node).end - 1
    parts = rest[1:]
    if operator.lstrip(":")[:1] in ("-", "=", "+", "?") and operator not in (":",):
        return _defaulted(shell, node, found, operator, (start, end, parts), quoted)
    if operator in ("#", "##", "%", "%%"):
        wanted = pattern_atoms(shell, start, end, parts)
        value = mapped(
            shell,
            found,
            lambda known, text: pattern.strip(plain(wanted, known), text, operator[0] == "#", len(operator) == 2),
        )
    elif operator[:1] == "/":
        value = _replaced(shell, found, operator, start, end, parts)
    elif operator == ":":
        value = _cut(shell, found, start, end, parts)
    elif operator in ("^", "^^", ",", ",,") and not parts:
        value = mapped(shell, found, lambda _, text: _cased(operator, text))
    else:
        value = (shell.unknown(f"`{shell.text(node)}` is not read", node),)
    return _finish(shell, node, Target(found.name, value, found.form), quoted)


def _cased(operator: str, text: str) -> str:
    change = str.upper if operator[0] == "^" else str.lower
    return change(text) if len(operator) == 2 else change(text[:1]) + text[1:]


def mapped(shell: Shell, found: Target, change: Callable[[Assume, str], str]) -> Atoms:
    """Apply a text operation to a value, or to every entry of a list."""

    def one(known: Assume, atoms: Atoms) -> Atoms:
        text = plain(atoms, known)
        try:
            new = change(known, text)
        except pattern.Unsupported:
            raise Opaque(shell.unknown("its pattern is not read")) from None
        return atoms if new == text else _reshaped(atoms, known, text, new)

    def build(known: Assume) -> Atoms:
        if not found.form:
            return one(known, found.atoms)
        return pack([tuple(_only_text(one(known, w))) for w in fields(settle(found.atoms, known))])

    return lifted(shell, build)


def _only_text(atoms: Atoms) -> Iterator[Lit | Unk]:
    return (a for a in atoms if isinstance(a, Lit | Unk))


def _reshaped(atoms: Atoms, known: Assume, text: str, new: str) -> Atoms:
    """Give the new text, with the place of the part that is left where it is a part of one literal."""
    lits = [a for a in settle(atoms, known) if isinstance(a, Lit) and a.text]
    if len(lits) == 1 and new and new in text:
        at = text.index(new) if text.startswith(new) else text.rindex(new)
        return (lits[0].slice(at, at + len(new)),)
    return (computed(new, None, lits),)


def _replaced(shell: Shell, found: Target, operator: str, start: int, end: int, parts: list[Node]) -> Atoms:
    middle = next((p for p in parts if p.type == "/" or shell.text(p) == "/"), None)
    middle_start = shell.mark(middle).start if middle is not None else end
    before = [p for p in parts if shell.mark(p).end <= middle_start]
    after = [p for p in parts if middle is not None and shell.mark(p).start > middle_start]
    wanted = pattern_atoms(shell, start, middle_start, before)
    new = region(shell, shell.mark(middle).end, end, after, True) if middle is not None else ()
    everywhere, anchor = operator.startswith("//"), operator[1:].strip("/")
    return mapped(
        shell,
        found,
        lambda known, text: pattern.substitute(plain(wanted, known), plain(new, known), text, everywhere, anchor),
    )


def _cut(shell: Shell, found: Target, start: int, end: int, parts: list[Node]) -> Atoms:
    colon = next((p for p in parts if p.type == ":"), None)
    first_end = shell.mark(colon).start if colon is not None else end
    low = arithmetic_range(
        shell, start, first_end, _expansions(parts, first_end, before=True), Mark(shell.document, start, end)
    )
    high = (
        arithmetic_range(
            shell, first_end + 1, end, _expansions(parts, first_end, before=False), Mark(shell.document, start, end)
        )
        if colon is not None
        else None
    )

    def bounds(known: Assume, size: int) -> slice:
        begin = int(plain(low, known))
        begin = max(size + begin, 0) if begin < 0 else begin
        if high is None:
            return slice(begin, size)
        length = int(plain(high, known))
        return slice(begin, size + length if length < 0 else begin + length)

    if found.form:
        if found.name in ("@", "*") and any(isinstance(a, Pass) for a in found.atoms):
            return found.atoms
        shift = 1 if found.name in ("@", "*") else 0

        def build(known: Assume) -> Atoms:
            words = fields(settle(found.atoms, known))
            if any(isinstance(a, Unk) and a.several for w in words for a in w):
                raise Opaque(shell.unknown("which entries it takes cannot be known", several=True))
            part = bounds(known, len(words) + shift)
            return pack(words[slice(max(part.start - shift, 0), max(part.stop - shift, 0))])

        return lifted(shell, build)
    return mapped(shell, found, lambda known, text: text[bounds(known, len(text))])


def _expansions(parts: Iterable[Node], border: int, before: bool) -> list[Node]:
    return [p for p in parts if (p.start_byte < border) is before and p.type != ":"]


def _defaulted(
    shell: Shell,
    node: Node,
    found: Target,
    operator: str,
    rest: tuple[int, int, list[Node]],
    quoted: bool,
) -> Atoms:
    start, end, parts = rest
    kind = operator[-1]
    mark = shell.mark(node)
    value = _finish(shell, node, found, quoted)
    if kind == "?":
        return value
    empty, caveat = emptiness(shell, found, colon=operator.startswith(":"))
    if empty is None:
        return (Unk(_reason(found), f"new:{shell.fresh()}", (mark,), not quoted, bool(found.form)),)
    if kind == "+":
        other = region(shell, start, end, parts, quoted) if empty is not True else ()
        return select(empty, (), other)
    other = region(shell, start, end, parts, quoted) if empty is not False else ()
    if caveat:
        mark = Mark(mark.document, mark.start, mark.end, caveat)
    other = use(other, mark, split=None)
    if caveat and empty is True and not other:
        other = (Pass(mark, _outer_key(found), caveat, not quoted),)
    if kind == "=" and found.name.isidentifier():
        shell.assign(found.name, select(empty, other, found.atoms))
    return select(empty, other, value)


def _outer_key(found: Target) -> str:
    return next((a.key for a in found.atoms if isinstance(a, Unk | Pass)), "argv")


def _reason(found: Target) -> str:
    return next((a.reason for a in found.atoms if isinstance(a, Unk)), f"`{found.name}` is not known")


def emptiness(shell: Shell, found: Target, colon: bool) -> tuple[Truth | None, str]:
    """Say whether a value is unset (or empty, with `colon`), and what would set it; None where that is unknown."""
    if found.var is not None and found.var.unset:
        return True, ""
    unks = [a for a in found.atoms if isinstance(a, Unk)]
    if len(found.atoms) == 1 and unks and unks[0].optional:
        return True, unks[0].optional
    passes = [a for a in found.atoms if isinstance(a, Pass)]
    if passes and not any(isinstance(a, Unk | Choice) or (isinstance(a, Lit) and a.text) for a in found.atoms):
        return True, passes[0].caveat
    if any(isinstance(a, Lit) and a.text for a in found.atoms):
        return False, ""
    if not colon and (not found.form or found.var is None or not found.var.array):
        unset_here = not found.atoms and (found.name.isdigit() or (found.var is not None and found.var.array))
        return bool(unset_here) and not has_choice(found.atoms), ""
    caveats: list[str] = []

    def build(known: Assume) -> Truth:
        settled = [a for a in settle(found.atoms, known) if not isinstance(a, Break)]
        if any(isinstance(a, Lit) and a.text for a in settled):
            return False
        for atom in settled:
            if isinstance(atom, Unk) and not (atom.optional and len(settled) == 1):
                raise Opaque(atom)
            if isinstance(atom, Unk):
                caveats.append(atom.optional)
        return True

    try:
        return cases(build, shell.state.assume, join_truth), next(iter(caveats), "")
    except Opaque:
        return None, ""


def region(shell: Shell, start: int, end: int, parts: Iterable[Node], quoted: bool) -> Atoms:
    """Evaluate the word inside `${X:-...}`: blanks are text, and part the words where it is not quoted."""
    inner: list[Node] = []
    for part in parts:
        inner.extend(part.children if part.type == "concatenation" else (part,))
    wanted = [n for n in inner if n.type in EXPANSIONS or n.type in QUOTES]
    if any(n.type == "ERROR" or n.has_error for n in inner):
        again = reread(shell, start, end, quoted)
        return again if again is not None else (shell.unknown("it is not valid bash"),)
    text = _loose if not quoted else dequoted if any(map(_is_in_quotes, inner)) else _assigned
    return gaps(shell, start, end, wanted, quoted, text)


def _is_in_quotes(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type not in ("string", "heredoc_body"):
        parent = parent.parent
    return parent is not None


def _assigned(shell: Shell, start: int, end: int) -> Atoms:
    """Read text that does not fall apart, though no quotes stand around it."""
    return with_home(shell, start, end, lambda low, high: dequoted(shell, low, high))


def _loose(shell: Shell, start: int, end: int) -> Atoms:
    return unquoted(shell, start, end, split=True)


def _again(shell: Shell, node: Node, quoted: bool) -> Atoms:
    """Read arithmetic that the grammar took for a command: on its own it is clear."""
    mark = shell.mark(node)
    return reread(shell, mark.start, mark.end, quoted) or (shell.unknown("it is not valid bash", node),)
