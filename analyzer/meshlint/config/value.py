"""Values with three truth states and their provenance.

A value is set (somebody wrote it), unset (the default of the framework's version counts) or unknown (meshlint cannot
know it and never guesses). Each carries the places that made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from meshlint.place import Span
from meshlint.records import dataclass

HOLE = "\ufffc"
"""What stands in a text for a stretch of it that is unknown."""

Data = Any
"""None, bool, int, float, str, or tuples of them: what a config can hold."""


class State(str, Enum):
    """The three truth states."""

    SET = "set"
    UNSET = "unset"
    UNKNOWN = "unknown"


class Kind(str, Enum):
    """Where a value comes from."""

    WRITTEN = "written"
    DEFAULT = "default"
    DERIVED = "derived"
    TABLE = "table"
    OPTION = "option"


@dataclass(frozen=True, slots=True)
class Origin:
    """One place that made a value.

    `text` is the expression as written (it enters fingerprints), `scope` the entry inside the file that owns the line
    (a recipe's function, a command of a script; empty for a YAML file), `caveat` what would override it at launch.
    """

    kind: Kind
    text: str = ""
    span: Span | None = None
    surface: str = ""
    scope: str = ""
    note: str = ""
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """A value, its state and its origins, the place to edit first.

    `partial` is the text of a value that is unknown in part only, each unknown stretch as one HOLE.
    """

    state: State
    data: Data = None
    origins: tuple[Origin, ...] = ()
    reason: str = ""
    partial: str = ""

    @property
    def is_set(self) -> bool:
        """Say whether somebody wrote the value."""
        return self.state is State.SET

    @property
    def is_unknown(self) -> bool:
        """Say whether the value cannot be known."""
        return self.state is State.UNKNOWN

    @property
    def span(self) -> Span | None:
        """Give the first place where the value is written; a framework's own file of defaults is none."""
        return next((o.span for o in self.origins if o.span is not None and o.kind is not Kind.DEFAULT), None)

    def with_data(self, data: Data) -> Value:
        """Give the same value with other data, as after a conversion."""
        return replace(self, data=data)

    def because(self, *origins: Origin) -> Value:
        """Give the same value with further origins behind its own."""
        return replace(self, origins=self.origins + origins)


def written(data: Data, origin: Origin, *more: Origin) -> Value:
    """Make a value that somebody wrote at `origin`."""
    return Value(State.SET, data, (origin, *more))


def default(data: Data, note: str) -> Value:
    """Make a framework's default; `note` names the framework and version that has it."""
    return Value(State.UNSET, data, (Origin(Kind.DEFAULT, text=repr(data), note=note),))


def unknown(reason: str, *origins: Origin, partial: str = "") -> Value:
    """Make a value that cannot be known; `reason` is a clause that a person can act on."""
    return Value(State.UNKNOWN, None, origins, reason, partial)


def derived_from(data: Data, text: str, *inputs: Value) -> Value:
    """Make a value that follows from others, with their places behind it: set if one of them is, or there are none."""
    state = State.SET if not inputs or any(v.is_set for v in inputs) else State.UNSET
    places = tuple(origin for v in inputs if v.is_set for origin in v.origins)
    return Value(state, data, (*places, Origin(Kind.DERIVED, text=text, note=text)))


EMPTY: Mapping[str, Value] = {}
