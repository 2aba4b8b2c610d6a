"""What a surface is: a form in which people write launches, and its reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Protocol

from meshlint.config.launch import Launch, Pin
from meshlint.config.value import Value
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.discover import Scope
from meshlint.sources.tree import Reader, Tree


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read, in one sentence; becomes MSH003 where it hides part of a launch.

    `bound` says that the file can be read but for this piece, or up to a bound on the work. `fix` says how to mend it,
    where that is not to mend the file or to leave it out. `code` says that the file is source to judge, no launch.
    """

    span: Span
    sentence: str
    bound: bool = False
    fix: str = ""
    code: bool = False


@dataclass(slots=True)
class Context:
    """What readers share: the tree, all its files, the options that a person gave, and where problems go.

    `files` are the paths, as shown, of every file of the tree that is not excluded (not only those asked for), so
    that a base file's callers can be found; `named` are those that a person spelt out. `environment` are `--env`
    values; `pins` are `--pin` values.
    """

    tree: Tree
    files: tuple[str, ...] = ()
    environment: Mapping[str, Value] = field(default_factory=dict)
    pins: tuple[Pin, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    shared: dict[str, object] = field(default_factory=dict)
    """A place for a surface to keep what it computes once for the whole tree, under its own name."""
    named: frozenset[str] = frozenset()

    def reader(self) -> Reader:
        """Give a reader that records what one launch reads."""
        return Reader(self.tree)

    def holding(self, words: tuple[str, ...], endings: tuple[str, ...]) -> list[str]:
        """Give the files of the tree with one of the endings that hold one of the words; sorted as the files are."""
        from meshlint.sources.search import Sought, begin

        tree = self.tree
        scope = Scope(tree.root, tree.roots, self.files, (), self.named, replaced=tree.replaced)
        # Where everything is judged, everything is read, and to read it here costs nothing more.
        found = begin(scope, (Sought(words, endings),), ask_git=bool(self.named)).found(tree)
        return [path for path in self.files if path in found]

    def problem(self, span: Span, sentence: str, bound: bool = False, fix: str = "") -> None:
        """Note a problem; reading goes on."""
        self.problems.append(Problem(span, sentence, bound, fix))


class Surface(Protocol):
    """A reader of one form. It is asked in three steps, cheapest first."""

    name: str

    def claims(self, path: str) -> bool:
        """Say by the path alone whether a file could be of this form."""

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Give the files to judge for the claimed paths.

        A base file that others complete gives way to those others, unless it is a launch of its own: one that a
        person names, or that something starts. One that is no launch is left out.
        """

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the launches of one entry file, in order, each with all its variants.

        Never raises for what a file holds: what cannot be read goes to `context.problem` or into unknown values.
        """
