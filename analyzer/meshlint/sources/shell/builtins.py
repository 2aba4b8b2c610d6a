"""The shell's own commands, and the few programs whose output follows from their arguments."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.sources.shell import arithmetic
from meshlint.sources.shell.assignments import assign
from meshlint.sources.shell.conditions import words_test
from meshlint.sources.shell.document import Document, Mark, derived
from meshlint.sources.shell.filters import sed, tr
from meshlint.sources.shell.flow import printed, run_document
from meshlint.sources.shell.functions import call
from meshlint.sources.shell.lists import line, text_of
from meshlint.sources.shell.numbers import arithmetic_text
from meshlint.sources.shell.processes import external
from meshlint.sources.shell.state import Shell, Var
from meshlint.sources.shell.term import (
    Assume,
    Atom,
    Atoms,
    Choice,
    Field,
    Lit,
    Opaque,
    Pass,
    Undecided,
    Unk,
    fields,
    pack,
    settle,
)
from meshlint.sources.shell.values import computed, lifted, separator
from meshlint.sources.shell.words import word
from meshlint.sources.tree import Unreadable

if TYPE_CHECKING:
    from tree_sitter import Node

Words = Sequence[Atoms]
_TRANSPARENT = frozenset({"command", "builtin", "time"})
_PAST_FUNCTIONS = frozenset({"command", "builtin", "exec"})
"""What starts a program or builtin of a name, whatever function has the same name."""


def dispatch(shell: Shell, words: list[Atoms], mark: Mark, functions: bool = True) -> str:
    """Run a command: a function of the script (unless told otherwise), a builtin, or a program."""
    while words and text_of(shell, words[0]) in _TRANSPARENT and len(words) > 1:
        if (text_of(shell, words[1]) or "-").startswith("-"):
            shell.status = None
            return ""
        functions = functions and text_of(shell, words[0]) not in _PAST_FUNCTIONS
        words = words[1:]
    name = _program(shell, words)
    if functions and name in shell.functions:
        return call(shell, name, line(words[1:]), mark)
    act = _BUILTINS.get(name)
    if act is not None and len(words) >= 1 and text_of(shell, words[0]) == name:
        return act(shell, words[1:], mark)
    return external(shell, name.rsplit("/", 1)[-1], words, mark)


def _program(shell: Shell, words: list[Atoms]) -> str:
    try:
        first = next(iter(fields(settle(words[0], shell.state.assume))), ()) if words else ()
    except Undecided:
        return ""
    return "".join(a.text for a in first if isinstance(a, Lit))


def _split(shell: Shell, words: Words) -> list[Field] | None:
    """Give the words of a builtin after splitting, or None where they hang on an open condition."""
    try:
        return fields(settle(line(words), shell.state.assume))
    except Undecided:
        return None


def _plain(field: Field) -> str | None:
    return None if any(isinstance(a, Unk) for a in field) else "".join(a.text for a in field if isinstance(a, Lit))


# Variables ------------------------------------------------------------------------------------------------------


def declare(shell: Shell, node: Node) -> str:
    """Run declare, local, export, readonly and typeset."""
    verb = node.children[0].type
    flags = ""
    for child in node.children[1:]:
        if child.type == "variable_assignment":
            target = child.child_by_field_name("name")
            name = shell.text(target) if target is not None else ""
            _localize(shell, verb, name, flags)
            if "A" in flags and name:
                shell.state.variables[name] = Var((), table={})
            name = assign(shell, child)
            if verb == "export" or "x" in flags:
                shell.export(name)
        elif child.type in ("variable_name", "word", "simple_expansion", "concatenation", "string", "expansion"):
            text = text_of(shell, word(shell, child)) or ""
            if text.startswith(("-", "+")):
                flags += text[1:] if text[0] == "-" else ""
            elif text:
                _declare_name(shell, verb, flags, text)
    shell.status = None
    return ""


def _declare_name(shell: Shell, verb: str, flags: str, text: str) -> None:
    name, equals, value = text.partition("=")
    if not name.isidentifier() or "f" in flags:
        return
    _localize(shell, verb, name, flags)
    if equals:
        shell.assign(name, (Lit(value),))
    elif verb in ("local", "declare", "typeset") and (shell.locals or name not in shell.state.variables):
        table: dict[str, Atoms] | None = {} if "A" in flags else None
        shell.state.variables[name] = Var((), "a" in flags, unset=table is None, table=table)
    if (verb == "export" or "x" in flags) and "n" not in flags:
        shell.export(name)


def _localize(shell: Shell, verb: str, name: str, flags: str) -> None:
    if verb in ("local", "declare", "typeset") and shell.locals and "g" not in flags:
        shell.locals[-1].setdefault(name, shell.state.variables.get(name))


def _read(shell: Shell, words: Words, mark: Mark) -> str:
    split = _split(shell, words) or []
    names, listed, whole, index = [], False, False, 0
    while index < len(split):
        text = _plain(split[index]) or ""
        if text.startswith("-"):
            listed = listed or "a" in text
            whole = whole or (text[-1:] == "d" and index + 1 < len(split) and _plain(split[index + 1]) == "")
            index += 1 if text[-1:] in "dnpstNu" and len(text) > 1 else 0
        elif text:
            names.append(text)
        index += 1
    if whole and len(names) == 1 and not listed and shell.stdin is not None:
        shell.assign(names[0], shell.stdin)
    else:
        _read_into(shell, names, listed, mark)
    shell.status = None
    return ""


def _read_into(shell: Shell, names: list[str], listed: bool, mark: Mark) -> None:
    given = shell.stdin
    parts: list[Field] | None = None
    if given is not None:
        split = tuple(Lit(a.text, a.mark, a.exact, a.uses, True) if isinstance(a, Lit) else a for a in given)
        try:
            parts = fields(settle(split, shell.state.assume), separator(shell))
        except Undecided:
            parts = None
    if parts is None or any(isinstance(a, Unk) for p in parts for a in p):
        reason = "it is read when the script runs"
        for name in names:
            shell.assign(name, (Unk(reason, f"read:{shell.fresh()}", (mark,), several=listed),), array=listed)
        return
    if listed and names:
        shell.assign(names[0], pack(parts), array=True)
        return
    for index, name in enumerate(names):
        mine = parts[index:] if index == len(names) - 1 else parts[index : index + 1]
        atoms: list[Lit | Unk] = []
        for number, field in enumerate(mine):
            atoms.extend(((Lit(" "),) if number else ()) + field)
        shell.assign(name, tuple(atoms))


def _mapfile(shell: Shell, words: Words, mark: Mark) -> str:
    split = _split(shell, words) or []
    names = [t for t in map(_plain, split) if t and not t.startswith("-")]
    name = names[-1] if names else "MAPFILE"
    shell.assign(name, (shell.unknown("it is read when the script runs", several=True),), array=True)
    return ""


def _set(shell: Shell, words: Words, mark: Mark) -> str:
    first = text_of(shell, words[0]) if words else ""
    if first == "--":
        shell.state.arguments, shell.state.shifted = line(words[1:]), 0
    elif first is not None and first and first[0] not in "-+":
        shell.state.arguments, shell.state.shifted = line(words), 0
    return ""


def _shift(shell: Shell, words: Words, mark: Mark) -> str:
    text = (text_of(shell, words[0]) or "") if words else ""
    count = int(text) if text.isdecimal() and len(text) < 10 else 1
    if shell.state.arguments is None:
        shell.state.shifted += count
        return ""
    shell.walk(shell.state.arguments)
    shell.walk(shell.state.arguments)
    try:
        left = fields(settle(shell.state.arguments, shell.state.assume))
        shell.state.arguments = pack(left[count:])
    except Undecided:
        shell.state.arguments = (shell.unknown("the arguments hang on a condition", several=True),)
    return ""


def _let(shell: Shell, words: Words, mark: Mark) -> str:
    for atoms in words:
        arithmetic_text(shell, atoms, mark)
    return ""


# Flow -----------------------------------------------------------------------------------------------------------


def _exit(shell: Shell, words: Words, mark: Mark) -> str:
    return "exit"


def _return(shell: Shell, words: Words, mark: Mark) -> str:
    if not shell.calls and not shell.sourcing:  # bash complains, and goes on
        shell.status = False
        return ""
    code = text_of(shell, words[0]) if words else "0"
    shell.status = None if code is None else code == "0"
    return "return"


def _break(shell: Shell, words: Words, mark: Mark) -> str:
    return "break"


def _continue(shell: Shell, words: Words, mark: Mark) -> str:
    return "continue"


def _true(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = True
    return ""


def _false(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = False
    return ""


def _nothing(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = None
    return ""


def _test(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = words_test(shell, line(words), mark)
    return ""


# Scripts --------------------------------------------------------------------------------------------------------


def _eval(shell: Shell, words: Words, mark: Mark) -> str:
    parts: list[object] = []
    for index, atoms in enumerate(words):
        parts.extend(((Lit(" "),) if index else ()) + tuple(Lit(" ") if _is_break(a) else _one_line(a) for a in atoms))
    if shell.calls.count("eval") > shell.limits.calls:
        shell.skip(mark, f"eval runs inside eval more than {shell.limits.calls} deep")
        return ""
    document = derived(shell.document.path, tuple(parts))  # type: ignore[arg-type]
    shell.calls = (*shell.calls, "eval")
    try:
        return run_document(shell, document)
    finally:
        shell.calls = shell.calls[:-1]


def _one_line(atom: object) -> object:
    """Give what word splitting leaves of line breaks: blanks."""
    if not isinstance(atom, Lit) or not atom.split or "\n" not in atom.text:
        return atom
    return Lit(atom.text.replace("\n", " "), atom.mark, atom.exact, atom.uses, atom.split)


def _is_break(atom: object) -> bool:
    return not isinstance(atom, Lit | Unk | Choice | Pass)


def _source(shell: Shell, words: Words, mark: Mark) -> str:
    if not words:
        return ""
    name = text_of(shell, words[0])
    if name is not None and shell.circle and shell.opened >= shell.limits.circles:
        return _left_out(shell, mark, name, f"files source each other in a circle, more than {shell.limits.circles}")
    shown = mark.document.text[mark.start : mark.end].split("\n")[0][:80]
    found = _find(shell, name) if name is not None else None
    if name is None or found is None:
        path = posixpath.normpath(name) if name else ""
        shell.missing.append(f"`{path}`, which it sources and which is not here" if path else f"what `{shown}` brings")
        if path and _must_be_here(shell, path, shown):
            sentence = f"`{path}`, which is sourced here, does not exist; what it would set counts as unknown"
            shell.trouble(mark, sentence, fix="Correct the path, or add the file.")
        _may_change(shell, name or shown)
        return ""
    if found.path in shell.sourcing or found.path == shell.path:
        shell.circle = True
        return ""
    if len(shell.sourcing) >= shell.limits.sourcing:
        return _left_out(shell, mark, name, f"files source each other more than {shell.limits.sourcing} deep")
    if shell.opened >= shell.limits.files:
        return _left_out(shell, mark, name, f"it sources more than {shell.limits.files} files")
    shell.opened += 1
    return _run_file(shell, found, line(words[1:]))


def _must_be_here(shell: Shell, path: str, written: str) -> bool:
    """Say whether a file that is not there should be: its path counts from the script's own, and lies in the tree.

    What only a branch sources, that nothing decides, and what sets up a machine may be missing.
    """
    if shell.state.guards or "$" not in written or "/" not in path or path.startswith(("/", "..")):
        return False
    return "." in posixpath.basename(path) and posixpath.basename(path) not in _SETTERS_OF_PATHS


_SETTERS_OF_PATHS = (
    "activate",
    ".bashrc",
    ".bash_profile",
    ".profile",
    "conda.sh",
    "set_env.sh",
    "setvars.sh",
    "profile",
)
"""Files that set up a machine or an interpreter; they set no variable that a launch script gives itself."""
MAX_NOTED = 2_000


def _may_change(shell: Shell, name: str) -> None:
    """Note on every variable that is set that a file which could not be read may set it anew.

    Not inside a branch that nothing decides: there the other way keeps each value as it is.
    """
    if shell.state.guards or posixpath.basename(name).strip("\"'") in _SETTERS_OF_PATHS:
        return
    caveat = f"`{name}` (sourced after it; could not be read)"
    variables = shell.state.variables
    for key in list(variables)[:MAX_NOTED]:
        atoms = variables[key].atoms
        if len(atoms) <= MAX_NOTED:
            variables[key] = replace(variables[key], atoms=tuple(_noted(atom, caveat) for atom in atoms))


def _noted(atom: Atom, caveat: str) -> Atom:
    if not isinstance(atom, Lit) or atom.mark is None or atom.mark.caveat:
        return atom
    return replace(atom, mark=replace(atom.mark, caveat=caveat))


def _left_out(shell: Shell, mark: Mark, name: str, what: str) -> str:
    shell.skip(mark, what)
    shell.missing.append(f"`{posixpath.normpath(name)}`, which is not read")
    return ""


def _find(shell: Shell, name: str) -> Document | None:
    """Find a sourced file: from the current folder, beside the script, then up from there."""
    if shell.files.get(name) is not None:
        return shell.files[name]
    places = list(_inside(name)) if name.startswith("/") else _places(shell, name)
    for place in places:
        try:
            if shell.reader.tree.exists(place):
                text = shell.reader.read(place)
                return Document(text.path, text.text)
        except Unreadable:
            continue
    return None


def _inside(name: str) -> Iterator[str]:
    """Give an absolute path, then its ends of two names and more: the checkout may lie elsewhere."""
    yield name
    parts = name.strip("/").split("/")
    for start in range(1, min(len(parts) - 1, 12)):
        yield "/".join(parts[start:])


def _places(shell: Shell, name: str) -> list[str]:
    here = posixpath.dirname(shell.document.path)
    starts = [] if shell.state.folder is None else [shell.state.folder]
    starts += ["", here]
    while here:
        here = posixpath.dirname(here)
        starts.append(here)
    return list(dict.fromkeys(posixpath.normpath(posixpath.join(s, name)) for s in starts))


def _run_file(shell: Shell, document: Document, given: Atoms) -> str:
    saved = shell.state.arguments, shell.state.shifted
    if given:
        shell.state.arguments, shell.state.shifted = given, 0
    shell.sourcing = (*shell.sourcing, document.path)
    try:
        flow = run_document(shell, document)
    finally:
        shell.sourcing = shell.sourcing[:-1]
    if given:
        shell.state.arguments, shell.state.shifted = saved
    shell.status = None
    return flow


# Output ---------------------------------------------------------------------------------------------------------


def _echo(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = None
    if shell.state.out is None:
        return ""
    texts = [text_of(shell, w) for w in words]
    end = True
    while texts and texts[0] in ("-n", "-e", "-E", "-ne", "-en"):
        end = end and "n" not in (texts[0] or "")
        texts, words = texts[1:], words[1:]

    def build(known: Assume) -> Atoms:
        found: list[Lit | Unk] = []
        for index, field in enumerate(fields(settle(line(words), known))):
            found.extend(((Lit(" "),) if index else ()) + field)
        return (*found, *((Lit("\n"),) if end else ()))

    printed(shell, lifted(shell, build))
    return ""


def _printf(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = None
    name = ""
    if len(words) > 2 and text_of(shell, words[0]) == "-v":
        name = text_of(shell, words[1]) or ""
        words = words[2:]
    if not words or (not name and shell.state.out is None):
        return ""

    def build(known: Assume) -> Atoms:
        split = fields(settle(line(words), known))
        return _formatted(shell, _plain(split[0]) if split else None, split[1:], mark)

    atoms = lifted(shell, build)
    if name.isidentifier():
        shell.assign(name, atoms)
    else:
        printed(shell, atoms)
    return ""


def _formatted(shell: Shell, form: str | None, given: list[Field], mark: Mark) -> Atoms:
    if form is None:
        return (shell.unknown("what printf prints is not known"),)
    form = form.replace("\\n", "\n").replace("\\t", "\t")
    found: list[Lit | Unk] = []
    left = list(given)
    for _ in range(1000):
        at = 0
        while (percent := form.find("%", at)) >= 0:
            found.append(Lit(form[at:percent], mark, exact=False))
            kind = form[percent + 1 : percent + 2]
            if kind == "%":
                found.append(Lit("%", mark, exact=False))
            elif kind in ("s", "d", "i"):
                found.extend(left.pop(0) if left else (Lit("" if kind == "s" else "0"),))
            else:
                return (shell.unknown(f"printf's `%{kind}` is not read"),)
            at = percent + 2
        found.append(Lit(form[at:], mark, exact=False))
        if not left or at == 0:
            break
    return tuple(a for a in found if not isinstance(a, Lit) or a.text)


def _pwd(shell: Shell, words: Words, mark: Mark) -> str:
    folder = shell.state.folder
    printed(shell, (Lit(folder or ".", mark, exact=False), Lit("\n")))
    return ""


def _cd(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = None
    texts = [text_of(shell, w) for w in words]
    names = [t for t in texts if t is None or not t.startswith("-")]
    if not names or names[-1] is None:
        shell.state.folder = None if names else shell.state.folder
        return ""
    shell.state.folder = posixpath.normpath(posixpath.join(shell.state.folder or ".", names[-1] or "."))
    return ""


def _path_part(part: Callable[[str], str]) -> Callable[[Shell, Words, Mark], str]:
    def act(shell: Shell, words: Words, mark: Mark) -> str:
        def build(known: Assume) -> Atoms:
            split = [f for f in fields(settle(line(words), known)) if _plain(f) not in ("--",)]
            if not split:
                return ()
            text = _plain(split[0])
            if text is None:
                raise Opaque(next(a for a in split[0] if isinstance(a, Unk)))
            cut = part(text)
            suffix = _plain(split[1]) if len(split) > 1 and part is _base else None
            if suffix and cut.endswith(suffix) and cut != suffix:
                cut = cut[: -len(suffix)]
            return (computed(cut, mark, (a for a in split[0] if isinstance(a, Lit))), Lit("\n"))

        printed(shell, lifted(shell, build))
        shell.status = None
        return ""

    return act


def _base(text: str) -> str:
    return posixpath.basename(text.rstrip("/")) or text[:1]


def _folder(text: str) -> str:
    return posixpath.dirname(text.rstrip("/")) or ("/" if text.startswith("/") else ".")


def _real_path(shell: Shell, words: Words, mark: Mark) -> str:
    """Run readlink and realpath; there are no links in sight."""

    def build(known: Assume) -> Atoms:
        split = [f for f in fields(settle(line(words), known)) if not (_plain(f) or "").startswith("-")]
        if not split or _plain(split[-1]) is None:
            raise Opaque(shell.unknown("which path it names is known only when the script runs"))
        path = posixpath.normpath(posixpath.join(shell.state.folder or ".", _plain(split[-1]) or "."))
        return (computed(path, mark, (a for a in split[-1] if isinstance(a, Lit))), Lit("\n"))

    printed(shell, lifted(shell, build))
    shell.status = None
    return ""


def _seq(shell: Shell, words: Words, mark: Mark) -> str:
    def build(known: Assume) -> Atoms:
        texts = [_plain(f) for f in fields(settle(line(words), known))]
        try:
            numbers = [int(t or "x") for t in texts]
        except ValueError:
            raise Opaque(shell.unknown("what seq prints is not known")) from None
        first = numbers[0] if len(numbers) > 1 else 1
        step = numbers[1] if len(numbers) > 2 else 1
        last = numbers[-1] if numbers else 0
        values = range(first, last + (1 if step > 0 else -1), step) if step else range(0)
        if len(values) > shell.limits.iterations:
            raise Opaque(shell.unknown("seq prints too many numbers"))
        return tuple(Lit(f"{v}\n", mark, exact=False) for v in values)

    printed(shell, lifted(shell, build))
    return ""


def _expr(shell: Shell, words: Words, mark: Mark) -> str:
    def build(known: Assume) -> Atoms:
        split = fields(settle(line(words), known))
        texts = [_plain(f) for f in split]
        if any(t is None for t in texts):
            raise Opaque(next(a for f in split for a in f if isinstance(a, Unk)))
        try:
            value = arithmetic.evaluate(" ".join(t or "" for t in texts), _no_name)
        except arithmetic.NoNumber:
            raise Opaque(shell.unknown("what expr prints is not known")) from None
        return (computed(str(value), mark, (a for f in split for a in f if isinstance(a, Lit))), Lit("\n"))

    printed(shell, lifted(shell, build))
    return ""


def _no_name(name: str) -> int:
    raise arithmetic.NoNumber(name)


def _cat(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = None
    if not words and shell.stdin is not None:
        printed(shell, shell.stdin)
        return ""
    return external(shell, "cat", [(Lit("cat"),), *words], mark)


def _tee(shell: Shell, words: Words, mark: Mark) -> str:
    shell.status = None
    if shell.stdin is not None:
        printed(shell, shell.stdin)
    return ""


def _exec(shell: Shell, words: Words, mark: Mark) -> str:
    left = list(words)
    while left and (option := text_of(shell, left[0]) or "").startswith("-"):
        left = left[2 if option.endswith("a") else 1 :]
    if not left:
        return ""
    return dispatch(shell, left, mark, functions=False) or "exit"


_BUILTINS: dict[str, Callable[[Shell, Words, Mark], str]] = {
    ".": _source,
    ":": _true,
    "[": _test,
    "basename": _path_part(_base),
    "break": _break,
    "cat": _cat,
    "cd": _cd,
    "continue": _continue,
    "dirname": _path_part(_folder),
    "echo": _echo,
    "eval": _eval,
    "exec": _exec,
    "exit": _exit,
    "expr": _expr,
    "false": _false,
    "let": _let,
    "mapfile": _mapfile,
    "printf": _printf,
    "pwd": _pwd,
    "read": _read,
    "readarray": _mapfile,
    "readlink": _real_path,
    "realpath": _real_path,
    "return": _return,
    "sed": sed,
    "seq": _seq,
    "set": _set,
    "shift": _shift,
    "shopt": _nothing,
    "source": _source,
    "tee": _tee,
    "test": _test,
    "trap": _nothing,
    "tr": tr,
    "true": _true,
    "ulimit": _nothing,
    "wait": _nothing,
}
