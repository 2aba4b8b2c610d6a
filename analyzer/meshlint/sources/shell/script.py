"""The door of the shell reader: a script's text in, the commands that it reaches out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.discover import SCRIPTS
from meshlint.sources.shell import slurm
from meshlint.sources.shell.capture import captured
from meshlint.sources.shell.document import Document, Mark
from meshlint.sources.shell.expansions import expand
from meshlint.sources.shell.flow import run_document
from meshlint.sources.shell.machine import STATEMENTS
from meshlint.sources.shell.processes import run_inner
from meshlint.sources.shell.state import Exhausted, Limits, Reached, Shell, State, Trouble, Var
from meshlint.sources.shell.term import (
    Atoms,
    Choice,
    Lit,
    pack,
)
from meshlint.sources.shell.variants import Variant, variants
from meshlint.sources.tree import Reader, Text


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

    def variants(self, watch: Sequence[str] = (), relevant: Callable[[str], bool] | None = None) -> list[Variant]:
        """Give its variants, at most MAX_VARIANTS.

        Conditions that set a variable of `watch` make variants of their own; those that touch only flags that are not
        `relevant` make none: their flags' values are then unknown.
        """
        return variants(self.reached, watch, relevant)


def _texts(atoms: Atoms, seen: set[int]) -> Iterator[str]:
    for atom in atoms:
        if isinstance(atom, Lit):
            yield atom.text
        elif isinstance(atom, Choice):
            for arm in (atom.yes, atom.no):
                if id(arm) not in seen:
                    seen.add(id(arm))
                    yield from _texts(arm, seen)


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
    givers: Mapping[str, str] | None = None,
) -> Script:
    """Follow a script.

    `environment` are variables given from outside, `givers` the words that give them (`--env CP=2`); `fallback` are
    values for variables that cannot be known otherwise; `arguments` are the script's own, None where nobody knows them.

    Never raises for what the script holds: what cannot be followed becomes a trouble, and what was found stays.
    """
    document = Document(source.path, source.text)
    shell = Shell(reader, source.path, document, State(), limits or Limits(), BORING, STATEMENTS, captured, expand)
    shell.directives = slurm.directives(document)
    shell.state.variables.update(slurm.variables(shell.directives))
    shell.fallback = fallback or {}
    if arguments is not None:
        shell.state.arguments = pack([(Lit(a),) for a in arguments])
    for name, value in (environment or {}).items():
        giver = Mark(Document("", value), 0, len(value), shown=(givers or {}).get(name, f"{name}={value}"))
        shell.state.variables[name] = Var((Lit(value, giver, exact=False),), exported=True)
    _guarded(shell, document)
    for name, text in list(shell.files.items()):
        if name not in shell.ran and name.endswith(SCRIPTS):
            _guarded_file(shell, text)
    programs = tuple(Program(r) for r in shell.reached)
    return Script(programs, tuple(shell.troubles), frozenset(reader.seen))


def _guarded(shell: Shell, document: Document) -> None:
    try:
        run_document(shell, document)
    except (Exhausted, RecursionError) as stop:
        where = str(stop) if isinstance(stop, Exhausted) else "it is nested too deeply"
        shell.trouble(shell.at or Mark(document, 0, 1), f"{where}; what follows there is not read", ends=True)


def _guarded_file(shell: Shell, document: Document) -> None:
    try:
        run_inner(shell, document, (), ())
    except (Exhausted, RecursionError) as stop:
        where = str(stop) if isinstance(stop, Exhausted) else "it is nested too deeply"
        shell.trouble(shell.at or Mark(document, 0, 1), f"{where}; what follows there is not read", ends=True)
