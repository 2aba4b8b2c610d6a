"""The door of the shell reader: a script's text in, the commands that it reaches out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from meshlint.place import Span
from meshlint.sources.shell import slurm
from meshlint.sources.shell.document import Document, Mark, Spot
from meshlint.sources.shell.machine import run_document
from meshlint.sources.shell.state import Exhausted, Limits, Reached, Shell, State, Trouble, Var, guard
from meshlint.sources.shell.state import nodes as open_conds
from meshlint.sources.shell.term import (
    Assume,
    Atoms,
    Break,
    Choice,
    Cond,
    Field,
    Lit,
    Pass,
    Truth,
    Unk,
    conds,
    fields,
    implied,
    pack,
    under,
    use,
)
from meshlint.sources.tree import Reader, Text

MAX_VARIANTS = 16


def _names(*rows: str) -> frozenset[str]:
    return frozenset(name for row in rows for name in row.split())


BORING: frozenset[str] = _names(
    "awk apt apt-get aws basename cat chmod chown clear cp curl cut date declare df dirname du echo",
    "export expr false find git grep head hostname huggingface-cli hf id ip jq kill killall ln ls lsof",
    "mkdir modelscope module mv nproc nvidia-smi pgrep pip pip3 pkill popd printenv printf ps pushd",
    "readlink realpath rm rmdir rsync sed seq sleep sort ssh-keygen stat sync tail tar tee test touch tr",
    "true type uname uniq unzip wc wget which rocm-smi scancel squeue sacct scontrol sinfo redis-cli mc",
    "s3cmd gsutil ifconfig umask unset",
)
"""Programs that start no training: they are met without being recorded."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its text, or None with the reason; `known` is then the part before the unknown one."""

    text: str | None
    reason: str = ""
    known: str = ""
    several: bool = False
    field: Field = field(default=(), compare=False)

    def spots(self) -> tuple[Spot, ...]:
        """Give the places that made it, that of its value first: what stands behind the first `=`."""
        return _spots(self.field)


@dataclass(frozen=True, slots=True)
class Arm:
    """The way that an undecided condition goes in a variant."""

    text: str
    taken: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Variant:
    """A command's words, for one way that the undecided conditions go.

    `wrappers` are the commands that start the script around it, outermost first; `directives` the job's SBATCH
    options; `passed` is the place where the script's own arguments enter, None where they do not.
    """

    words: tuple[Word, ...]
    assume: Mapping[Cond, bool]
    joined: frozenset[Cond]
    state: State
    wrappers: tuple[tuple[Word, ...], ...]
    directives: tuple[Word, ...]
    passed: int | None = None

    def arms(self) -> tuple[Arm, ...]:
        """Give the conditions that this variant settles, in the order of the script."""
        inside = {c for t, _ in self.state.guards for c in open_conds(t)}
        return tuple(
            Arm(c.text, way, c.mark.document.span(c.mark.start, c.mark.end))
            for c, way in self.assume.items()
            if c not in self.state.assume or c in inside
        )

    def environment(self) -> dict[str, Word]:
        """Give the exported variables."""
        exported = {name: var for name, var in self.state.variables.items() if var.exported}
        return {name: _one(var.atoms, self.assume, self.joined) for name, var in exported.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A command that a script reaches. `loops` are the variables of the loops around it with their values."""

    reached: Reached

    @property
    def loops(self) -> tuple[tuple[str, str], ...]:
        """Give the variables of the loops around it, with their values."""
        return self.reached.loops

    @property
    def folder(self) -> str | None:
        """Give the folder that it runs in, where that is known."""
        return self.reached.state.folder

    def span(self) -> Span:
        """Give the place of the command; equal for every time that it is reached."""
        mark = self.reached.mark
        return mark.document.span(mark.start, mark.end)

    def text(self) -> str:
        """Give all text that can be in its words, in any variant."""
        return " ".join(_texts(self.reached.atoms, set()))

    def variants(self, watch: Sequence[str] = ()) -> list[Variant]:
        """Give its variants, at most MAX_VARIANTS; conditions that set a variable of `watch` make some of their own."""
        return list(_variants(self.reached, watch))


def _texts(atoms: Atoms, seen: set[int]) -> Iterator[str]:
    for atom in atoms:
        if isinstance(atom, Lit):
            yield atom.text
        elif isinstance(atom, Choice) and id(atom) not in seen:
            seen.add(id(atom))
            yield from _texts(atom.yes, seen)
            yield from _texts(atom.no, seen)


@dataclass(frozen=True, slots=True)
class Script:
    """What a script does, as far as it can be known."""

    programs: tuple[Program, ...]
    troubles: tuple[Trouble, ...]
    reads: frozenset[str]


def evaluate(
    source: Text,
    reader: Reader,
    environment: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    fallback: Mapping[str, str] | None = None,
    arguments: Sequence[str] | None = None,
) -> Script:
    """Follow a script.

    `environment` are variables given from outside; `fallback` are values for variables that cannot be known otherwise;
    `arguments` are the script's own, None where nobody knows them.

    Never raises for what the script holds: what cannot be followed becomes a trouble, and what was found stays.
    """
    document = Document(source.path, source.text)
    shell = Shell(reader, source.path, document, State(), limits or Limits(), BORING)
    shell.directives = slurm.directives(document)
    shell.state.variables.update(slurm.variables(shell.directives))
    shell.fallback = fallback or {}
    if arguments is not None:
        shell.state.arguments = pack([(Lit(a),) for a in arguments])
    for name, value in (environment or {}).items():
        shell.state.variables[name] = Var((Lit(value),), exported=True)
    _guarded(shell, document)
    for name, text in list(shell.files.items()):
        if name not in shell.ran and name.endswith((".sh", ".sbatch", ".slurm", ".sub", ".bash")):
            _guarded_file(shell, text)
    programs = tuple(Program(r) for r in shell.reached)
    return Script(programs, tuple(shell.troubles), frozenset(reader.seen))


def _guarded(shell: Shell, document: Document) -> None:
    try:
        run_document(shell, document)
    except (Exhausted, RecursionError) as stop:
        where = str(stop) if isinstance(stop, Exhausted) else "it is nested too deeply"
        shell.trouble(Mark(shell.document, 0, 1), f"{where}; what follows there is not read")


def _guarded_file(shell: Shell, document: Document) -> None:
    from meshlint.sources.shell.machine import run_inner

    try:
        run_inner(shell, document, (), ())
    except (Exhausted, RecursionError):
        shell.trouble(Mark(document, 0, 1), "it takes more work to follow than meshlint spends on one script")


# Variants -------------------------------------------------------------------------------------------------------


def _variants(reached: Reached, watch: Sequence[str]) -> Iterator[Variant]:
    state = reached.state
    watched = tuple(a for name in watch if (var := state.variables.get(name)) is not None for a in var.atoms)
    outer = tuple(a for wrapper in (*reached.wrappers, *reached.directives) for a in wrapper)
    leaves, joined = _ways((*reached.atoms, *outer, *watched), state)
    seen: set[object] = set()
    for assume in leaves:
        variant = _variant(reached, assume, joined)
        key = (variant.words, variant.wrappers, tuple(_watched(variant, n) for n in watch))
        if key not in seen:
            seen.add(key)
            yield variant


def _ways(atoms: Atoms, state: State) -> tuple[list[dict[Cond, bool]], frozenset[Cond]]:
    """Give the ways that the conditions a value hangs on can go, at most MAX_VARIANTS, and those left open."""
    allowed = guard(state)
    wanted = {c.number: c for c in (*open_conds(allowed), *conds(atoms, state.assume))}
    leaves: list[dict[Cond, bool]] = [dict(state.assume)]
    joined: set[Cond] = set()
    for number in sorted(wanted):
        cond = wanted[number]
        grown = [new for leaf in leaves for new in _split(leaf, cond, atoms, allowed)]
        if len(grown) > MAX_VARIANTS:
            joined.add(cond)
        else:
            leaves = grown
    return leaves, frozenset(joined)


def _split(leaf: dict[Cond, bool], cond: Cond, atoms: Atoms, allowed: Truth) -> list[dict[Cond, bool]]:
    known = implied(cond, leaf)
    if known is not None:
        return [{**leaf, cond: known}]
    if cond not in open_conds(under(allowed, leaf)) and cond not in conds(atoms, leaf):
        return [leaf]
    ways = [{**leaf, cond: way} for way in (True, False)]
    return [w for w in ways if under(allowed, w) is not False]


def _variant(reached: Reached, assume: dict[Cond, bool], joined: frozenset[Cond]) -> Variant:
    state = reached.state
    words, passed = _words(reached.atoms, assume, joined)
    wrappers = tuple(_words(w, assume, joined)[0] for w in reached.wrappers)
    directives = tuple(w for d in reached.directives for w in _words(d, assume, joined)[0])
    return Variant(words, assume, joined, state, wrappers, directives, passed)


def _watched(variant: Variant, name: str) -> Word | None:
    var = variant.state.variables.get(name)
    return None if var is None else _one(var.atoms, variant.assume, variant.joined)


def _one(atoms: Atoms, assume: Assume, joined: frozenset[Cond]) -> Word:
    settled = tuple(_settle(use(atoms, None, False), assume, joined))
    field = tuple(a for a in settled if isinstance(a, Lit | Unk))
    return _word(field)


def _words(atoms: Atoms, assume: Assume, joined: frozenset[Cond]) -> tuple[tuple[Word, ...], int | None]:
    settled = list(_settle(atoms, assume, joined))
    passed: int | None = None
    for index, atom in enumerate(settled):
        if isinstance(atom, Pass):
            passed = len(fields(settled[:index]))
    return tuple(_word(f) for f in fields(settled)), passed


def _settle(atoms: Atoms, assume: Assume, joined: frozenset[Cond]) -> Iterator[Lit | Unk | Break | Pass]:
    """Decide every choice; one that is left open becomes what both of its arms have in common: the flags' names."""
    for atom in atoms:
        if not isinstance(atom, Choice):
            yield atom
            continue
        known = implied(atom.cond, assume)
        if known is None:
            yield from _either(atom, assume, joined)
            continue
        inner = use(atom.yes if known else atom.no, None, atom.split)
        for part in _settle(inner, assume, joined):
            yield _used(part, atom)


def _used(part: Lit | Unk | Break | Pass, choice: Choice) -> Lit | Unk | Break | Pass:
    for mark in choice.uses:
        (part,) = use((part,), mark, None)  # type: ignore[assignment]
    return part


def _either(atom: Choice, assume: Assume, joined: frozenset[Cond]) -> Iterator[Lit | Unk | Break | Pass]:
    reason = f"it depends on `{atom.cond.text}`, one of too many undecided conditions"
    mark = atom.cond.mark
    arms = [list(_settle(use(a, None, atom.split), assume, joined)) for a in (atom.yes, atom.no)]
    names: dict[str, Lit] = {}
    other = False
    for arm in arms:
        words = fields(arm)
        for index, word in enumerate(words):
            text = "".join(a.text for a in word if isinstance(a, Lit))
            if text.startswith("--") and isinstance(word[0], Lit):
                names.setdefault(text.partition("=")[0], word[0])
            elif index == 0:
                other = True
    if other or not names or not atom.split:
        yield Unk(
            reason, f"either:{atom.cond.number}", (mark, *atom.uses), atom.split, several=bool(atom.split and names)
        )
        return
    from meshlint.sources.shell.term import BREAK

    yield BREAK
    for name, lit in names.items():
        yield lit.slice(0, len(name))
        yield BREAK
        yield Unk(reason, f"either:{atom.cond.number}", (mark,), False)
        yield BREAK


def _word(field: Field) -> Word:
    unk = next((a for a in field if isinstance(a, Unk)), None)
    if unk is None:
        return Word("".join(a.text for a in field if isinstance(a, Lit)), field=field)
    at = field.index(unk)
    known = "".join(a.text for a in field[:at] if isinstance(a, Lit))
    several = bool(unk.several or unk.split) and not known
    return Word(None, unk.reason, known, several, field)


def _spots(field: Field) -> tuple[Spot, ...]:
    """Give the places of a word, those of its value first: what stands behind the first `=`."""
    first: list[Lit | Unk] = []
    rest: list[Lit | Unk] = []
    seen = False
    for atom in field:
        text = atom.text if isinstance(atom, Lit) else ""
        if not seen and "=" in text and isinstance(atom, Lit):
            at = text.index("=") + 1
            seen = True
            rest.append(atom.slice(0, at))
            if at < len(text):
                first.append(atom.slice(at, len(text)))
        else:
            (first if seen else rest).append(atom)
    ordered = [*first, *rest] if seen else rest
    written = [a for a in ordered if not isinstance(a, Lit) or a.text]
    ordered = written or ordered
    spots: dict[tuple[Span, str], Spot] = {}
    for atom in ordered:
        for spot in atom.spots():
            spots.setdefault((spot.span, spot.caveat), spot)
    return tuple(spots.values())[:8]
