"""Words to values: quoting, expansions, arrays, and the forms of `${...}`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshlint.sources.shell import arithmetic, pattern
from meshlint.sources.shell.document import Mark, derived, parse
from meshlint.sources.shell.state import Exhausted, Shell, Var
from meshlint.sources.shell.term import (
    BREAK,
    Assume,
    Atom,
    Atoms,
    Break,
    Choice,
    Lit,
    Opaque,
    Pass,
    Truth,
    Undecided,
    Unk,
    cases,
    document_literals,
    fields,
    has_choice,
    join_atoms,
    join_truth,
    pack,
    plain,
    select,
    settle,
    use,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

EXPANSIONS = frozenset(
    {"simple_expansion", "expansion", "arithmetic_expansion", "command_substitution", "process_substitution"}
)
QUOTES = frozenset({"string", "raw_string", "ansi_c_string", "translated_string"})
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "e": "\x1b", "0": "\0"}


def word(shell: Shell, node: Node, quoted: bool = False) -> Atoms:
    """Evaluate a word's node; word borders come out as breaks, unquoted expansions fall apart later."""
    shell.step()
    shell.nesting += 1
    if shell.nesting > shell.limits.nesting:
        raise Exhausted("it is nested too deeply")
    try:
        return _word(shell, node, quoted)
    finally:
        shell.nesting -= 1


def _word(shell: Shell, node: Node, quoted: bool) -> Atoms:
    kind = node.type
    if kind == "concatenation":
        return tuple(a for child in node.children for a in word(shell, child, quoted))
    if kind == "string":
        return double_quoted(shell, node)
    if kind == "raw_string":
        return _inside(shell, node, 1, 1)
    if kind == "ansi_c_string":
        return _ansi(shell, node)
    if kind == "translated_string":
        return tuple(a for child in node.children if child.is_named for a in word(shell, child, quoted))
    if kind in EXPANSIONS:
        return expand(shell, node, quoted)
    if kind == "brace_expression":
        return _sequence(shell, node)
    if kind == "ERROR":
        return (shell.unknown("it is not valid bash", node, several=True),)
    mark = shell.mark(node)
    return unquoted(shell, mark.start, mark.end, split=False)


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
        from meshlint.sources.shell.machine import captured

        return use(captured(shell, node), shell.mark(node), split=not quoted)
    return (shell.unknown("the output of a process is not known before the run", node),)


def _again(shell: Shell, node: Node, quoted: bool) -> Atoms:
    """Read arithmetic that the grammar took for a command: on its own it is clear."""
    mark = shell.mark(node)
    return reread(shell, mark.start, mark.end, quoted) or (shell.unknown("it is not valid bash", node),)


def reread(shell: Shell, start: int, end: int, quoted: bool = False) -> Atoms | None:
    """Parse a stretch of the current document as one word by itself; None where it is none."""
    document = derived(shell.document.path, document_literals(shell.document, start, end), "x=")
    root = parse(document, _tool(shell))
    if root.has_error or root.named_child_count != 1 or root.named_children[0].type != "variable_assignment":
        return None
    value = root.named_children[0].child_by_field_name("value")
    if value is None or value.type == "array":
        return None
    before, shell.document = shell.document, document
    try:
        return word(shell, value, quoted)
    finally:
        shell.document = before


def _tool(shell: Shell) -> Parser:
    from meshlint.sources.shell.document import parser

    if shell.tool is None:
        shell.tool = parser()
    return shell.tool


# Literal text ---------------------------------------------------------------------------------------------------


def unquoted(shell: Shell, start: int, end: int, split: bool) -> Atoms:
    """Give unquoted text of the document, backslashes taken off."""
    return _escaped(shell, start, end, split, special=None)


def dequoted(shell: Shell, start: int, end: int) -> Atoms:
    """Give text between double quotes, backslashes taken off where they quote."""
    return _escaped(shell, start, end, False, special='"$`\\')


def _escaped(shell: Shell, start: int, end: int, split: bool, special: str | None) -> Atoms:
    document = shell.document
    text = document.text
    found: list[Atom] = []
    at = start
    while True:
        slash = text.find("\\", at, end)
        if slash < 0 or slash + 1 >= end:
            break
        follows = text[slash + 1]
        if follows != "\n" and special is not None and follows not in special:
            found.extend(document_literals(document, at, slash + 2, split, special is None))
            at = slash + 2
            continue
        found.extend(document_literals(document, at, slash, split, special is None))
        if follows != "\n":
            found.extend(document_literals(document, slash + 1, slash + 2))
        at = slash + 2
    found.extend(document_literals(document, at, end, split, special is None))
    return tuple(found)


def double_quoted(shell: Shell, node: Node) -> Atoms:
    """Evaluate a double-quoted string; whatever is no expansion in it is text, blanks included."""
    mark = shell.mark(node)
    inner = [c for c in node.children if c.type in EXPANSIONS]
    found = gaps(shell, mark.start + 1, mark.end - 1, inner, True, dequoted)
    if (
        len(inner) == 1
        and _is_list(shell, inner[0])
        and shell.text(inner[0]) == shell.document.text[mark.start + 1 : mark.end - 1]
    ):
        return found
    return (Lit(""), *found)


def gaps(
    shell: Shell,
    start: int,
    end: int,
    inner: Iterable[Node],
    quoted: bool,
    text: Callable[[Shell, int, int], Atoms],
) -> Atoms:
    """Evaluate a stretch: the given nodes as what they are, and what lies between them as text."""
    found: list[Atom] = []
    at = start
    for child in inner:
        mark = shell.mark(child)
        found.extend(text(shell, at, mark.start))
        found.extend(word(shell, child, quoted))
        at = mark.end
    found.extend(text(shell, at, end))
    return tuple(found)


def _is_list(shell: Shell, node: Node) -> bool:
    text = shell.text(node)
    return text in ("$@", "${@}") or "[@]" in text or text.startswith("${@:")


def _inside(shell: Shell, node: Node, front: int, back: int) -> Atoms:
    mark = shell.mark(node)
    return (Lit(""), *document_literals(shell.document, mark.start + front, mark.end - back, False, False))


def _ansi(shell: Shell, node: Node) -> Atoms:
    mark = shell.mark(node)
    text = shell.document.text[mark.start + 2 : mark.end - 1]
    if "\\" not in text:
        return _inside(shell, node, 2, 1)
    parts = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            if text[at + 1] not in _ANSI:
                return (shell.unknown("its escapes are not read", node),)
            parts.append(_ANSI[text[at + 1]])
            at += 2
        else:
            parts.append(text[at])
            at += 1
    return (Lit("".join(parts), mark, exact=False),)


def _sequence(shell: Shell, node: Node) -> Atoms:
    mark = shell.mark(node)
    ends = [shell.text(c) for c in node.named_children]
    try:
        low, high = int(ends[0]), int(ends[1])
    except (ValueError, IndexError):
        return (shell.unknown("its braces are not read", node, several=True),)
    if abs(high - low) >= shell.limits.iterations:
        return (shell.unknown("its braces give too many words", node, several=True),)
    numbers = range(low, high + 1) if low <= high else range(low, high - 1, -1)
    return _listed([Lit(str(n), mark, exact=False) for n in numbers])


def _listed(items: Sequence[Atom]) -> Atoms:
    found: list[Atom] = []
    for item in items:
        if found:
            found.append(BREAK)
        found.append(item)
    return tuple(found)


# Expansions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """What an expansion names: its variable, its value, and whether it is a list (`@`), a joined list (`*`) or text."""

    name: str
    atoms: Atoms
    form: str = ""
    var: Var | None = None


def target(shell: Shell, node: Node) -> Target:
    """Evaluate the name inside an expansion."""
    if node.type == "subscript":
        return _subscript(shell, node)
    name = shell.text(node)
    if name.isdigit():
        return Target(name, argument(shell, int(name)))
    if name in ("@", "*"):
        return Target(name, arguments(shell, shell.mark(node)), name)
    if name == "#":
        return Target(name, _count(shell))
    if name in ("?", "$", "!", "-", "_"):
        return Target(name, (Unk(f"`${name}` is known only when the script runs", f"new:{shell.fresh()}"),))
    var = shell.lookup(name)
    if name == "BASH_SOURCE":
        return Target(name, (Lit(shell.document.path),))
    return Target(name, element(shell, var, 0) if var.array else var.atoms, "", var)


def _subscript(shell: Shell, node: Node) -> Target:
    name_node, index = node.child_by_field_name("name"), node.child_by_field_name("index")
    name = shell.text(name_node) if name_node is not None else ""
    if name == "BASH_SOURCE":
        return Target(name, (Lit(shell.document.path),))
    var = shell.lookup(name)
    key = shell.text(index) if index is not None else ""
    if key in ("@", "*"):
        return Target(name, _all(shell, var, name), key, var)
    if var.table is not None and index is not None:
        return Target(name, _entry(shell, var, word(shell, index, True)), "", var)
    if index is None or not var.array:
        return Target(name, var.atoms if key in ("0", "") else (), "", var)
    mark = shell.mark(index)
    try:
        position = int(plain(arithmetic_range(shell, mark.start, mark.end, [index], mark), shell.state.assume))
    except (Opaque, Undecided, ValueError):
        return Target(name, (shell.unknown(f"which entry of `{name}` it is cannot be known", node),), "", var)
    return Target(name, element(shell, var, position), "", var)


def _all(shell: Shell, var: Var, name: str) -> Atoms:
    """Give all entries. The environment holds no lists: one that nothing sets is empty."""
    if var.table is not None:
        return _listed([a for atoms in var.table.values() for a in atoms[:1]])
    if len(var.atoms) == 1 and isinstance(var.atoms[0], Unk) and not var.array:
        unk = var.atoms[0]
        if unk.key == f"env:{name}" and not shell.missing:
            return ()
        return (Unk(unk.reason, unk.key, unk.uses, unk.split, True, unk.optional),)
    return var.atoms


def _entry(shell: Shell, var: Var, key: Atoms) -> Atoms:
    table = var.table or {}
    return lifted(shell, lambda known: table.get(plain(key, known), ()))


def lifted(shell: Shell, build: Callable[[Assume], Atoms]) -> Atoms:
    """Compute a value in every open case; one that touches an unknown is unknown for the same reason."""

    def guarded(known: Assume) -> Atoms:
        try:
            return build(known)
        except Opaque as stop:
            return (Unk(stop.unk.reason, f"from:{stop.unk.key}:{shell.fresh()}", stop.unk.uses),)

    try:
        return cases(guarded, shell.state.assume, join_atoms)
    except Opaque as stop:
        return (stop.unk,)


def element(shell: Shell, var: Var, position: int) -> Atoms:
    """Give one entry of a list."""

    def build(known: Assume) -> Atoms:
        words = fields(settle(var.atoms, known))
        if any(isinstance(a, Unk) and a.several for w in words for a in w):
            raise Opaque(next(a for w in words for a in w if isinstance(a, Unk)))
        return words[position] if -len(words) <= position < len(words) else ()

    return lifted(shell, build)


def argument(shell: Shell, position: int) -> Atoms:
    """Give a positional parameter."""
    if position == 0:
        return (Lit(shell.path),)
    given = shell.state.arguments
    if given is None:
        number = position + shell.state.shifted
        return (
            Unk(f"it is argument {number} of the script", f"arg:{number}", optional=f"argument {number} of the script"),
        )
    return element(shell, Var(given, array=True), position - 1)


def arguments(shell: Shell, mark: Mark) -> Atoms:
    """Give all positional parameters; the script's own leave no word."""
    given = shell.state.arguments
    return (Pass(mark),) if given is None else given


def _count(shell: Shell) -> Atoms:
    given = shell.state.arguments
    if given is None:
        return (Unk("how many arguments the script gets is not known", "argc"),)
    return lifted(shell, lambda known: (Lit(str(len(fields(settle(given, known))))),))


def _finish(shell: Shell, node: Node, found: Target, quoted: bool) -> Atoms:
    mark = shell.mark(node)
    if found.form == "*" and quoted:
        return use(joined(shell, found.atoms), mark, split=False)
    if found.form == "@" and quoted:
        return use(found.atoms, mark, split=None)
    return use(found.atoms, mark, split=not quoted)


def separator(shell: Shell) -> str:
    """Give IFS where it is known."""
    var = shell.state.variables.get("IFS")
    if var is None:
        return " \t\n"
    try:
        return plain(var.atoms, shell.state.assume)
    except (Opaque, Undecided):
        return " \t\n"


def joined(shell: Shell, atoms: Atoms) -> Atoms:
    """Join a list by the first character of IFS."""
    glue = Lit(separator(shell)[:1])

    def build(known: Assume) -> Atoms:
        found: list[Atom] = []
        for index, field in enumerate(fields(settle(atoms, known))):
            found.extend(((glue,) if index else ()) + field)
        return tuple(found)

    return lifted(shell, build)


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
        return _listed([Lit(key) for key in found.var.table])
    if found.form:
        return lifted(shell, lambda known: _listed([Lit(str(i)) for i in range(_length(found, known))]))
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


def computed(text: str, mark: Mark | None, operands: Iterable[Lit]) -> Lit:
    """Make a text that was computed at `mark` from literals; their places stay with it."""
    marks: list[Mark] = []
    for lit in operands:
        marks.extend(m for m in (lit.mark, *lit.uses) if m is not None and m not in marks)
    first = mark if mark is not None else (marks.pop(0) if marks else None)
    return Lit(text, first, exact=False, uses=tuple(marks[:3]))


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
    text = dequoted if quoted else _loose
    return gaps(shell, start, end, wanted, quoted, text)


def _loose(shell: Shell, start: int, end: int) -> Atoms:
    return unquoted(shell, start, end, split=True)


def pattern_atoms(shell: Shell, start: int, end: int, parts: Iterable[Node]) -> Atoms:
    """Evaluate a pattern: what is quoted in it stands for itself."""
    inner: list[Node] = []
    for part in parts:
        inner.extend(part.children if part.type == "concatenation" else (part,))
    text = shell.document.text[start:end]
    special = [n for n in inner if n.type in QUOTES or n.type in EXPANSIONS]
    if any(c in text for c in "$\"'`") and not special:
        again = reread(shell, start, end)
        return again if again is not None else (shell.unknown("its pattern is not read"),)
    found: list[Atom] = []
    at = start
    for child in special:
        mark = shell.mark(child)
        found.extend(document_literals(shell.document, at, mark.start))
        value = word(shell, child, quoted=child.type in QUOTES)
        found.extend(_quote(shell, value) if child.type in QUOTES else value)
        at = mark.end
    found.extend(document_literals(shell.document, at, end))
    return tuple(found)


def _quote(shell: Shell, atoms: Atoms) -> Atoms:
    return lifted(shell, lambda known: (Lit(pattern.quoted(plain(atoms, known))),))


# Arithmetic -----------------------------------------------------------------------------------------------------


def arithmetic_value(shell: Shell, node: Node, front: int, back: int, quoted: bool) -> Atoms:
    """Evaluate `$((...))`."""
    mark = shell.mark(node)
    value = arithmetic_range(shell, mark.start + front, mark.end - back, list(_descend(node)), mark)
    return use(value, None, split=not quoted)


def _descend(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in EXPANSIONS or child.type in QUOTES:
            yield child
        elif child.child_count:
            yield from _descend(child)


def arithmetic_range(shell: Shell, start: int, end: int, inner: Iterable[Node], mark: Mark) -> Atoms:
    """Evaluate a stretch of the document as arithmetic; variables that it assigns are assigned."""
    wanted = [n for n in inner if n.type in EXPANSIONS or n.type in QUOTES]
    text = gaps(shell, start, end, wanted, True, dequoted)
    return arithmetic_text(shell, text, mark)


def arithmetic_text(shell: Shell, text: Atoms, mark: Mark) -> Atoms:
    """Evaluate a text as arithmetic."""
    shell.step(3)
    writes: dict[str, int] = {}
    ways = [0]

    def build(known: Assume) -> Atoms:
        writes.clear()
        ways[0] += 1
        operands: list[Lit] = [a for a in settle(text, known) if isinstance(a, Lit) and a.uses]

        def read(name: str) -> int:
            if name in writes:
                return writes[name]
            found = shell.lookup(name)
            atoms = element(shell, found, 0) if found.array else found.atoms
            content = plain(atoms, known)
            operands.extend(a for a in settle(atoms, known) if isinstance(a, Lit))
            if content.isidentifier():
                return read_again(content)
            return arithmetic.number(content)

        def read_again(name: str) -> int:
            return arithmetic.number(plain(shell.lookup(name).atoms, known))

        try:
            value = arithmetic.evaluate(plain(text, known), read, writes.__setitem__)
        except arithmetic.NoNumber:
            raise Opaque(shell.unknown("its arithmetic cannot be computed")) from None
        return (computed(str(value), mark, operands),)

    result = lifted(shell, build)
    for name, value in writes.items():
        atoms: Atoms = (computed(str(value), mark, ()),)
        if ways[0] > 1:
            atoms = (shell.unknown(f"`{name}` is computed from undecided values"),)
        shell.assign(name, atoms)
    return result


def listing(shell: Shell, node: Node) -> tuple[Atoms, dict[str, Atoms] | None]:
    """Evaluate an array literal: its words, and its entries where they are written as `[key]=value`."""
    found: list[Atom] = []
    table: dict[str, Atoms] = {}
    end = -1
    for child in node.named_children:
        if child.type == "comment":
            continue
        keyed = _keyed(shell, child)
        if keyed is not None:
            table[keyed[0]] = keyed[1]
            continue
        atoms = word(shell, child)
        glued, end = shell.mark(child).start == end, child.end_byte
        if any(not isinstance(a, Lit) or a.text or not a.split for a in atoms):
            found.extend(((BREAK,) if found and not glued else ()) + atoms)
    return tuple(found), table or None


def _keyed(shell: Shell, node: Node) -> tuple[str, Atoms] | None:
    mark = shell.mark(node)
    text = shell.document.text[mark.start : mark.end]
    close = text.find("]=")
    if node.type != "concatenation" or not text.startswith("[") or close < 0:
        return None
    key = reread(shell, mark.start + 1, mark.start + close)
    value = reread(shell, mark.start + close + 2, mark.end, quoted=True) if close + 2 < len(text) else ()
    if key is None or value is None:
        return None
    try:
        return plain(key, shell.state.assume), value
    except (Opaque, Undecided):
        return None


def undecided(atoms: Atoms) -> bool:
    """Say whether a value holds a choice or something unknown."""
    return any(isinstance(a, Choice | Unk) for a in atoms)
