"""`tr` and `sed` over text that is known: the few forms that launch scripts put option strings through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.flow import printed
from meshlint.sources.shell.lists import text_of
from meshlint.sources.shell.processes import external
from meshlint.sources.shell.state import Shell
from meshlint.sources.shell.term import Atoms, Choice, Lit, Unk

Change = Callable[[Lit], Iterator[Lit]]
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
_CLASSES = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "A-Z": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "a-z": "abcdefghijklmnopqrstuvwxyz",
}
_SPECIAL = frozenset(".*[]^$\\+?&")


def tr(shell: Shell, words: Sequence[Atoms], mark: Mark) -> str:
    """Run `tr SET SET` and `tr -d SET` for sets that are one character or a class."""
    return _filter(shell, "tr", words, mark, _translation([text_of(shell, w) or "" for w in words]))


def sed(shell: Shell, words: Sequence[Atoms], mark: Mark) -> str:
    """Run `sed s/TEXT/TEXT/g`, and `s/ \\+/ /g` in its spellings."""
    texts = [text_of(shell, w) or "" for w in words]
    script = texts[-1] if len(texts) == 1 or texts[:-1] in (["-e"], ["-E"], ["-r"]) else ""
    extended = texts[:1] in (["-E"], ["-r"])
    return _filter(shell, "sed", words, mark, _substitution(script, "+" if extended else "\\+"))


def _filter(shell: Shell, name: str, words: Sequence[Atoms], mark: Mark, change: Change | None) -> str:
    if change is None or shell.stdin is None:
        return external(shell, name, [(Lit(name),), *words], mark)
    shell.status = None
    printed(shell, _changed(shell, shell.stdin, change, {}))
    return ""


def _changed(shell: Shell, atoms: Atoms, change: Change, memo: dict[int, Atoms]) -> Atoms:
    known = memo.get(id(atoms))
    if known is not None:
        return known
    shell.step()
    found: list[object] = []
    for atom in atoms:
        if isinstance(atom, Lit):
            found.extend(change(atom))
        elif isinstance(atom, Choice):
            yes, no = _changed(shell, atom.yes, change, memo), _changed(shell, atom.no, change, memo)
            found.append(replace(atom, yes=yes, no=no))
        elif isinstance(atom, Unk):
            found.append(replace(atom, key=f"from:{atom.key}:{shell.fresh()}"))
        else:
            found.append(atom)
    made = memo[id(atoms)] = tuple(found)  # type: ignore[arg-type]
    return made


def _set(text: str) -> str:
    return _CLASSES.get(text) or _ESCAPES.get(text) or (text if len(text) == 1 else "")


def _translation(words: list[str]) -> Change | None:
    if len(words) != 2:
        return None
    if words[0] == "-d":
        gone = _set(words[1])
        return _pieces(lambda char: "" if char in gone else char) if gone else None
    old, new = _set(words[0]), _set(words[1])
    if not old or len(new) not in (1, len(old)):
        return None
    table = dict(zip(old, new if len(new) == len(old) else new * len(old), strict=True))
    return lambda lit: iter((replace(lit, text="".join(table.get(c, c) for c in lit.text)),))


def _substitution(script: str, plus: str) -> Change | None:
    parts = script[2:].split(script[1]) if script[:1] == "s" and len(script) > 2 else []
    if len(parts) != 3 or parts[2] != "g":
        return None
    old, new = parts[0], parts[1]
    if new == " " and old in (f" {plus}", f"  {plus}", "  *"):
        return _one_blank
    if len(old) != 1 or old in _SPECIAL or _SPECIAL & set(new):
        return None
    return _pieces(lambda char: new if char == old else char)


def _one_blank(lit: Lit) -> Iterator[Lit]:
    """Leave one of several blanks."""
    start = 0
    for place in range(1, len(lit.text)):
        if lit.text[place] == lit.text[place - 1] == " ":
            if start < place:
                yield lit.slice(start, place)
            start = place + 1
    if start < len(lit.text):
        yield lit.slice(start, len(lit.text))


def _pieces(change: Callable[[str], str]) -> Change:
    """Change text character by character; what stays keeps its place."""

    def build(lit: Lit) -> Iterator[Lit]:
        start = 0
        for place, char in enumerate(lit.text):
            new = change(char)
            if new == char:
                continue
            if start < place:
                yield lit.slice(start, place)
            if new:
                yield replace(lit.slice(place, place + 1), text=new, exact=False)
            start = place + 1
        if start < len(lit.text):
            yield lit.slice(start, len(lit.text))

    return build
