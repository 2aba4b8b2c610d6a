"""What an expression can be, to the evaluator.

Plain data is immutable (`Leaf`); lists, dicts and config objects keep their content in dicts that only the machine's
journal writes, so that an arm of an undecided condition can be taken back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from meshlint.config.value import Data, Origin
from meshlint.place import Span
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.config.python.machine import Frame
    from meshlint.config.python.program import Module


@dataclass(frozen=True, slots=True)
class Dep:
    """A parallel size that a value was computed from, as it was at that moment."""

    name: str
    data: Data
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """An undecided condition: where it stands and how it is written."""

    span: Span
    text: str


class Piece(NamedTuple):
    """A stretch of a string and the places that made it; `text` is None where it is unknown, for `reason`.

    `home` is the literal whose own text it is: the whole of an f-string for what stands between its braces.
    """

    text: str | None
    origins: tuple[Origin, ...]
    reason: str = ""
    home: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Known plain data. `pieces` tells a built string's parts apart; empty for one that has a single place."""

    data: Data
    origins: tuple[Origin, ...] = ()
    deps: tuple[Dep, ...] = ()
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """Something that cannot be known, and why; `site` is the undecided condition whose answer would tell.

    `several` marks an unknown stretch of a list.
    """

    reason: str
    origins: tuple[Origin, ...] = ()
    site: Site | None = None
    pieces: tuple[Piece, ...] = ()
    several: bool = False


@dataclass(slots=True, eq=False)
class Seq:
    """A list, tuple or set; `state["items"]` holds its content."""

    kind: str
    state: dict[Any, Any]
    origins: tuple[Origin, ...] = ()

    @property
    def items(self) -> tuple[Val, ...]:
        """Give the content."""
        return self.state["items"]  # type: ignore[no-any-return]

    @property
    def open(self) -> bool:
        """Say whether a stretch of it is unknown."""
        return any(isinstance(item, Unknown) and item.several for item in self.items)


@dataclass(slots=True, eq=False)
class Map:
    """A dict with plain keys; `rest` says why further keys may be there, empty where none are."""

    entries: dict[Any, Any]
    origins: tuple[Origin, ...] = ()
    rest: str = ""


class Slot(NamedTuple):
    """One write of an attribute: its place in the order of all writes, the value, and where it is used."""

    order: int
    value: Val
    uses: tuple[Origin, ...] = ()


@dataclass(slots=True, eq=False)
class Record:
    """A config object. `slots[name]` is the history of an attribute, a tuple of `Slot`.

    Under `*` stand moments at which something that could not be read may have changed any attribute; under `?name` the
    parallel sizes that decided whether the attribute is written. `open` says why attributes nobody wrote are not known
    (empty: they have their class's defaults); `model` is the id of the model whose shape it has, if any.
    """

    type: str
    cls: ClassVal | None = None
    slots: dict[Any, Any] = field(default_factory=dict)
    open: str = ""
    model: Leaf | Unknown | None = None
    origins: tuple[Origin, ...] = ()

    def names(self) -> Iterator[str]:
        """Give the attributes that were written, in order."""
        return (name for name in self.slots if name[:1] not in "*?")


@dataclass(slots=True, eq=False)
class Func:
    """A function of the tree; `owner` is the class that defines it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    closure: Frame | None = None
    owner: ClassVal | None = None

    @property
    def name(self) -> str:
        """Give its name."""
        return "lambda" if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(slots=True, eq=False)
class ClassVal:
    """A class of the tree; `members` maps names to the statements that define them."""

    node: ast.ClassDef
    module: Module
    members: dict[str, ast.stmt] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Give its name."""
        return self.node.name


@dataclass(frozen=True, slots=True, eq=False)
class ModuleVal:
    """A module or package of the tree, by its dotted name."""

    dotted: str
    module: Module | None
    importer: str


@dataclass(frozen=True, slots=True, eq=False)
class External:
    """Something of a library that is not in the tree, by its dotted name."""

    dotted: str

    @property
    def name(self) -> str:
        """Give the last part of the name."""
        return self.dotted.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method of a value."""

    receiver: Val
    name: str
    function: Func | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """A config with overrides that are merged but not yet applied to it: pairs of dotted key and value."""

    record: Val
    layers: tuple[tuple[str, Val], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """A callable with some arguments bound."""

    callee: Val
    args: tuple[Val, ...] = ()
    kwargs: tuple[tuple[str, Val], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Unset:
    """An attribute that nobody wrote because these parallel sizes decided so."""

    deps: tuple[Dep, ...]


@dataclass(slots=True, eq=False)
class Parser:
    """An `argparse` parser; `state["options"]` holds what was added to it."""

    state: dict[Any, Any]


Val: TypeAlias = (
    Leaf | Unknown | Seq | Map | Record | Func | ClassVal | ModuleVal | External | Bound | Overlay | Partial | Parser
)

NONE = Leaf(None)


def sequence(kind: str, items: tuple[Val, ...], origins: tuple[Origin, ...] = ()) -> Seq:
    """Make a list, tuple or set."""
    return Seq(kind, {"items": items}, origins)


def origins_of(value: Val) -> tuple[Origin, ...]:
    """Give the places that made a value."""
    return getattr(value, "origins", ())


def deps_of(value: Val) -> tuple[Dep, ...]:
    """Give the parallel sizes that a value was computed from."""
    return value.deps if isinstance(value, Leaf) else ()


def truth(value: Val) -> bool | None:
    """Say whether a value counts as true; None where that is not known."""
    if isinstance(value, Leaf):
        return bool(value.data)
    if isinstance(value, Seq):
        return None if value.open and len(value.items) == 1 else bool(value.items)
    if isinstance(value, Map):
        return True if value.entries else (None if value.rest else False)
    if isinstance(value, Unknown):
        return None
    return True
