"""The state of an abstract shell: variables, arguments, and what is assumed on the path to here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.shell.document import Document, Mark
from meshlint.sources.shell.term import (
    Atoms,
    Cond,
    Lit,
    Node,
    Pass,
    Truth,
    Unk,
    branch,
    forced,
    select,
    size,
    under,
)
from meshlint.sources.tree import Reader

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax
    from tree_sitter import Parser


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the work for one script, by count."""

    steps: int = 25_000
    reserve: int = 6_000
    """Steps beyond them for what stands behind the statement that met the bound: only launches are looked at there."""
    reached: int = 1_200
    files: int = 40
    sourcing: int = 16
    circles: int = 4
    """Files that are still followed once files were seen to source each other in a circle."""
    calls: int = 12
    nesting: int = 40
    iterations: int = 300
    problems: int = 20
    atoms: int = 20_000
    characters: int = 1_000_000
    """Characters of one text, and of the value of one variable."""


WEIGHT = 8
"""Atoms of a value that one step goes over."""
CHARACTERS = 200
"""Characters that one step parses."""


class Exhausted(Exception):  # noqa: N818 - control flow: reading stops, what was found stays
    """A bound of `Limits` was met; the text says which."""


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A variable: a text, a list (`array`, words with borders between them) or a mapping (`table`)."""

    atoms: Atoms
    array: bool = False
    exported: bool = False
    unset: bool = False
    table: Mapping[str, Atoms] | None = None


@dataclass(slots=True, eq=False)
class State:
    """What holds at one point of a script. `arguments` is None where they are the script's own, from outside."""

    variables: dict[str, Var] = field(default_factory=dict)
    assume: dict[Cond, bool] = field(default_factory=dict)
    guards: tuple[tuple[Truth, bool], ...] = ()
    arguments: Atoms | None = None
    shifted: int = 0
    folder: str | None = None
    out: Atoms | None = None
    """What commands have printed, while somebody captures it."""

    def fork(self) -> State:
        """Give a copy that can go its own way."""
        return State(
            dict(self.variables), dict(self.assume), self.guards, self.arguments, self.shifted, self.folder, self.out
        )

    def take(self, truth: Truth, way: bool) -> None:
        """Go on where a truth came out this way."""
        self.assume.update(forced(truth, way))
        self.guards = (*self.guards, (truth, way))


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that could not be read; `ends` says that reading stopped there, `fix` how to mend it."""

    span: Span
    sentence: str
    ends: bool = False
    fix: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """A command that a script comes to, before its choices are resolved."""

    mark: Mark
    atoms: Atoms
    state: State
    loops: tuple[tuple[str, str], ...]
    wrappers: tuple[Atoms, ...]
    directives: tuple[Atoms, ...]
    function: str
    order: int


Handler = Callable[["Shell", "Syntax"], str]
"""Runs one statement; gives how control goes on."""
Capture = Callable[["Shell", "Syntax"], Atoms]
"""Gives what a command substitution prints."""
Expand = Callable[["Shell", "Syntax", bool], Atoms]
"""Evaluates one `$...`, in double quotes or out of them."""


@dataclass(slots=True, eq=False)
class Shell:
    """One evaluation: the state now, and what has been found."""

    reader: Reader
    path: str
    document: Document
    state: State
    limits: Limits = field(default_factory=Limits)
    boring: frozenset[str] = frozenset()
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    capture: Capture | None = None
    expand: Expand | None = None
    reached: list[Reached] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    trailing: Sequence[Syntax] = ()
    """Words of the next command that stand behind a redirection."""
    fallback: Mapping[str, str] = field(default_factory=dict)
    functions: dict[str, tuple[Syntax, Document]] = field(default_factory=dict)
    files: dict[str, Document] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    conds: dict[str, Cond] = field(default_factory=dict)
    loops: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[Atoms, ...] = ()
    directives: tuple[Atoms, ...] = ()
    calls: tuple[str, ...] = ()
    bodies: tuple[tuple[int, int], ...] = ()
    """The functions that run: document and offset of each body."""
    sourcing: tuple[str, ...] = ()
    missing: list[str] = field(default_factory=list)
    locals: list[dict[str, Var | None]] = field(default_factory=list)
    parked: list[list[tuple[State, str]]] = field(default_factory=list)
    stdin: Atoms | None = None
    status: Truth | None = None
    """How the last command ended; None where it is taken to succeed."""
    steps: int = 0
    full: bool = False
    """Whether it was said that more commands are started than are followed."""
    at: Mark | None = None
    """The statement that runs."""
    long: set[str] = field(default_factory=set)
    """Variables of which was said that they grow too long."""
    opened: int = 0
    circle: bool = False
    """Whether files source each other in a circle."""
    serial: int = 0
    nesting: int = 0
    tool: Parser | None = None
    spent: int = 0
    """How often the steps were used up: from then on only what can start something is run, in `Limits.reserve`."""

    def step(self, count: int = 1) -> None:
        """Count work; raises Exhausted past the bound."""
        self.steps += count
        if self.steps > self.limits.steps + self.limits.reserve * self.spent:
            bound = f"{self.limits.steps:,}"
            raise Exhausted(f"it takes more steps to follow than the {bound} that meshlint spends on one script")

    def afford(self, count: int) -> None:
        """Ask for work before it is begun; raises Exhausted where so many steps are not left."""
        self.step(count)
        self.steps -= count

    def walk(self, atoms: Atoms) -> None:
        """Count the work of going over a value: a long one costs as much as many short ones."""
        if len(atoms) >= WEIGHT:
            self.step(len(atoms) // WEIGHT)

    def skip(self, mark: Mark, what: str) -> None:
        """Note a piece of script that is left out because a bound is met; reading goes on behind it."""
        self.trouble(mark, f"{what}; what it would do there is not read", ends=True)

    def fresh(self) -> int:
        """Give a number that was not given before."""
        self.serial += 1
        return self.serial

    def trouble(self, mark: Mark, sentence: str, ends: bool = False, fix: str = "") -> None:
        """Note something that could not be read."""
        if len(self.troubles) < self.limits.problems:
            self.troubles.append(Trouble(mark.document.span(mark.start, mark.end), sentence, ends, fix))

    def mark(self, node: Syntax) -> Mark:
        """Give a node's stretch of the current document, without blanks in front."""
        start, end, text = node.start_byte, node.end_byte, self.document.text
        while start < end and start < len(text) and text[start].isspace():
            start += 1
        return Mark(self.document, start, min(end, len(text)))

    def text(self, node: Syntax) -> str:
        """Give a node's text, without blanks in front."""
        mark = self.mark(node)
        return self.document.text[mark.start : mark.end]

    def unknown(self, reason: str, node: Syntax | None = None, several: bool = False) -> Unk:
        """Make an unknown that equals no other."""
        uses = (self.mark(node),) if node is not None else ()
        return Unk(reason, f"new:{self.fresh()}", uses, several=several)

    def cond(
        self,
        key: str,
        text: str,
        mark: Mark,
        fact: tuple[str, str] | None = None,
        caveat: str = "",
    ) -> Cond:
        """Give the condition of a key: equal tests of equal values are one condition.

        A `caveat` makes it a condition that counts as true: nobody need set the variable that it asks for.
        """
        known = self.conds.get(key)
        if known is None:
            known = self.conds[key] = Cond(self.fresh(), text, mark, fact, caveat)
        return known

    def lookup(self, name: str) -> Var:
        """Give a variable; one that the script does not set comes from the environment and is unknown."""
        found = self.state.variables.get(name)
        if found is not None:
            return found
        if name in self.fallback:
            return Var((Lit(self.fallback[name]),))
        empty = self.conds.get(f"empty:env:{name}")
        if empty is not None and self.state.assume.get(empty):
            return Var((Pass(empty.mark, f"env:{name}", empty.caveat),))
        if name == "PWD" and self.state.folder is not None:
            return Var((Lit(self.state.folder),))
        return Var((Unk(self._from_outside(name), f"env:{name}", optional=f"{name} in the environment"),))

    def _from_outside(self, name: str) -> str:
        if name.startswith("SLURM_"):
            return f"Slurm sets `{name}` when the job runs"
        if name in ("RANDOM", "SECONDS", "HOSTNAME", "BASHPID"):
            return f"`{name}` is known only when the script runs"
        if self.missing:
            return f"the script does not set `{name}`; it may come from {self.missing[-1]}"
        return f"the script does not set `{name}`; it can come from the environment (`--env {name}=...`)"

    def assign(self, name: str, atoms: Atoms, array: bool = False, table: Mapping[str, Atoms] | None = None) -> None:
        """Set a variable; it stays exported if it was."""
        self.walk(atoms)
        if name in self.long and any(isinstance(a, Unk) and a.key.startswith("long:") for a in atoms):
            atoms = (self._too_long(name),)
        if size(atoms) > self.limits.atoms or self._characters(atoms) > self.limits.characters:
            atoms = (self._too_long(name),)
        old = self.state.variables.get(name)
        exported = old.exported if old is not None else False
        if name in self.fallback and any(isinstance(a, Unk) for a in atoms):
            atoms = (Lit(self.fallback[name]),)
        self.state.variables[name] = Var(atoms, array, exported, table=table)

    def _characters(self, atoms: Atoms) -> int:
        return sum(len(a.text) for a in atoms if isinstance(a, Lit))

    def _too_long(self, name: str) -> Unk:
        reason = (
            f"`{name}` grows longer than the {self.limits.atoms:,} pieces and {self.limits.characters:,} characters "
            "that meshlint follows"
        )
        if name not in self.long:
            self.long.add(name)
            self.trouble(self.at or Mark(self.document, 0, 1), f"{reason}; it counts as unknown from there", ends=True)
        return Unk(reason, f"long:{self.fresh()}", several=True)

    def export(self, name: str) -> None:
        """Mark a variable for the environment of commands."""
        self.state.variables[name] = replace(self.lookup(name), exported=True)

    def merge(self, truth: Truth, yes: State, no: State, base: State) -> State:
        """Give the state after an `if`: what differs between the arms hangs on the condition."""
        merged = base.fork()
        names = dict.fromkeys((*yes.variables, *no.variables))
        self.step(len(names) // 8)
        merged.variables = {n: self._merge_var(n, truth, yes, no) for n in names}
        if yes.out is not None and no.out is not None:
            merged.out = select(truth, yes.out, no.out)
        merged.folder = yes.folder if yes.folder == no.folder else None
        merged.arguments = yes.arguments if yes.arguments is no.arguments else self._differ(yes, no, truth)
        merged.shifted = max(yes.shifted, no.shifted)
        return merged

    def _differ(self, yes: State, no: State, truth: Truth) -> Atoms | None:
        if yes.arguments is None or no.arguments is None:
            return (self.unknown("the arguments differ between branches", several=True),)
        return select(truth, yes.arguments, no.arguments)

    def _merge_var(self, name: str, truth: Truth, yes: State, no: State) -> Var:
        one, other = yes.variables.get(name), no.variables.get(name)
        if one is other and one is not None:
            return one
        one = one if one is not None else self._not_set(name, other)
        other = other if other is not None else self._not_set(name, one)
        exported = one.exported or other.exported
        if one.table is not None or other.table is not None:
            same = one.table == other.table
            return one if same else Var((self.unknown(f"`{name}` differs between branches"),), exported=exported)
        atoms = select(truth, one.atoms, other.atoms)
        return Var(atoms, one.array or other.array, exported, one.unset and other.unset)

    def _not_set(self, name: str, elsewhere: Var | None) -> Var:
        """Give what a variable is where only the other arm sets it: nothing, as for any variable of the script."""
        if name in self.fallback or elsewhere is None:
            return self.lookup(name)
        return Var((), elsewhere.array, elsewhere.exported, unset=True)

    def known(self, truth: Truth) -> Truth:
        """Simplify a truth by what is assumed here."""
        return under(truth, self.state.assume)


def guard(state: State, since: int = 0) -> Truth:
    """Give the condition of being here, from the guards after the first `since`."""
    truth: Truth = True
    for part, way in reversed(state.guards[since:]):
        truth = branch(part, truth, False) if way else branch(part, False, truth)
    return truth


def nodes(truth: Truth) -> Iterator[Cond]:
    """Give the conditions of a truth."""
    if isinstance(truth, Node):
        yield truth.cond
        yield from nodes(truth.yes)
        yield from nodes(truth.no)
