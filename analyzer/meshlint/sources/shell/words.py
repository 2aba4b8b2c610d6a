"""Words to values: quoting, literal text, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from meshlint.sources.shell.document import Mark, derived, parse, parser
from meshlint.sources.shell.state import CHARACTERS, Shell
from meshlint.sources.shell.term import (
    BREAK,
    Atom,
    Atoms,
    Lit,
    Opaque,
    Undecided,
    document_literals,
    plain,
    use,
)
from meshlint.sources.shell.values import listed, quoted_pattern

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
        shell.nesting -= 1
        what = f"it is nested deeper than the {shell.limits.nesting} levels that meshlint follows"
        shell.trouble(shell.mark(node), f"{what}; its value counts as unknown", ends=True)
        return (shell.unknown(what, node, several=True),)
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
        assert shell.expand is not None
        return shell.expand(shell, node, quoted)
    if kind == "brace_expression":
        return _sequence(shell, node)
    if kind == "ERROR":
        return (shell.unknown("it is not valid bash", node, several=True),)
    mark = shell.mark(node)
    return unquoted(shell, mark.start, mark.end, split=False)


def reread(shell: Shell, start: int, end: int, quoted: bool = False) -> Atoms | None:
    """Parse a stretch of the current document as one word by itself; None where it is none."""
    shell.step(5 * (end - start) // CHARACTERS)  # read once already
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
    if shell.tool is None:
        shell.tool = parser()
    return shell.tool


def unquoted(shell: Shell, start: int, end: int, split: bool) -> Atoms:
    """Give unquoted text of the document, backslashes taken off."""
    return with_home(shell, start, end, lambda low, high: _escaped(shell, low, high, split, special=None))


def with_home(shell: Shell, start: int, end: int, read: Callable[[int, int], Atoms]) -> Atoms:
    """Read text where `~` at the front of a word, or behind `name=`, is HOME."""
    text = shell.document.text
    front = text.find("=", start, end) + 1 if text[start:end].partition("=")[0].isidentifier() else start
    place = next((p for p in (start, front) if _is_home(text, p, end)), None)
    if place is None:
        return read(start, end)
    home = use(shell.lookup("HOME").atoms, Mark(shell.document, place, place + 1), split=False)
    return (*read(start, place), *home, *read(place + 1, end))


def _is_home(text: str, start: int, end: int) -> bool:
    if text[start : start + 1] != "~" or start >= end or (start + 1 < end and text[start + 1] != "/"):
        return False
    return not start or text[start - 1].isspace() or text[start - 1] in "=-:+(;|&"


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
    return listed([Lit(str(n), mark, exact=False) for n in numbers])


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
        found.extend(quoted_pattern(shell, value) if child.type in QUOTES else value)
        at = mark.end
    found.extend(document_literals(shell.document, at, end))
    return tuple(found)


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


def descend(node: Node) -> Iterator[Node]:
    """Give the expansions and quotes inside a node, outermost only."""
    for child in node.children:
        if child.type in EXPANSIONS or child.type in QUOTES:
            yield child
        elif child.child_count:
            yield from descend(child)
