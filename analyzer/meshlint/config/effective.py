"""The effective config of one role of one launch: what rules read.

A rule asks for fields and versions by name. Asking for an unknown one ends the rule without a finding (`Unjudged`);
asking for a version that nothing pins forks the judgement over every supported release (`Fork`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from packaging.version import Version

from meshlint.config.fields import FIELDS
from meshlint.config.framework import Framework, Role, Spelling, Window
from meshlint.config.launch import Launch, Pin
from meshlint.config.shapes.source import FIELDS as SHAPE_FIELDS
from meshlint.config.shapes.source import Shapes
from meshlint.config.value import Data, Kind, Origin, State, Value, default, unknown
from meshlint.records import dataclass

WORLD = "world_size"
"""Asked like a field: the ranks that are launched. It is no canonical field, since nobody's config has it."""


class Unjudged(Exception):  # noqa: N818 - not an error: the third truth value
    """A rule touched something unknown; it ends without a finding, and coverage says so."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class Fork(Exception):  # noqa: N818 - control flow: judge once for each candidate
    """A rule asked for a version that several releases could be."""

    def __init__(self, library: str, candidates: tuple[Version, ...]) -> None:
        super().__init__(library)
        self.library = library
        self.candidates = candidates


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is known of a library's version: the releases it can be, and the pin that says so, if any.

    `others` are pins that say something else, where they contradict each other.
    """

    candidates: tuple[Version, ...]
    pin: Pin | None = None
    others: tuple[Pin, ...] = ()


class EffectiveConfig:
    """Every canonical field of one role of one launch, with provenance, under one choice of versions."""

    def __init__(
        self,
        launch: Launch,
        framework: Framework,
        role: Role,
        versions: Mapping[str, Resolved],
        chosen: Mapping[str, Version],
        shapes: Shapes | None = None,
        shared: dict[str, Value] | None = None,
    ) -> None:
        """Make a config; `shared` keeps the values that hang on no version, for other choices of versions."""
        self.launch = launch
        self.framework = framework
        self.role = role
        self.versions = versions
        self.chosen = chosen
        self.shapes = shapes
        self._shared = {} if shared is None else shared
        self.assumed: dict[str, None] = {}
        """What a rule took for granted, in sentences; its findings say so and are at most warnings."""
        self._known: dict[str, Value] = dict(self._shared)
        self._asked = False
        self._busy: set[str] = set()
        self._hanging: set[str] = set()

    def value(self, name: str) -> Value:
        """Give a field in whichever of its three states it is; never raises `Unjudged` for the field itself.

        `world_size` is a name too: the ranks that are launched for this role. Raises KeyError for a name that is no
        canonical field, and Fork where a default depends on an open version.
        """
        if name in self._known:
            self._asked = self._asked or name in self._hanging
            return self._known[name]
        if name not in FIELDS and name != WORLD:
            raise KeyError(name)
        if name in self._busy:
            return unknown(f"{name} depends on itself")
        self._busy.add(name)
        self._asked = self._asked and len(self._busy) > 1
        try:
            value = self._resolve(name)
            amend = self.framework.amend.get(name)
            value = value if amend is None else amend(self, value)
        except Unjudged as stop:
            value = unknown(stop.reason)
        finally:
            self._busy.discard(name)
        self._known[name] = value
        if self._asked:
            self._hanging.add(name)
        elif not self._busy:
            self._shared[name] = value
        return value

    def need(self, name: str) -> Value:
        """Give a field that is set or has a default; end the rule where it is unknown."""
        value = self.value(name)
        if value.is_unknown:
            raise Unjudged(name, value.reason)
        return value

    def data(self, name: str) -> Data:
        """Give the data of `need`."""
        return self.need(name).data

    def assume(self, name: str, otherwise: Data, sentence: str) -> Data:
        """Give a field; `otherwise`, noted with its sentence, where only the model could tell and is not known.

        What is written and unknown ends the rule as in `need`: it may be anything.
        """
        value = self.value(name)
        if not value.is_unknown or not self._hangs_on_model(name):
            return self.data(name)
        self.assumed.setdefault(sentence)
        return otherwise

    def _hangs_on_model(self, name: str) -> bool:
        direct = self.launch.latest((f"@{name}",))
        return self._written(name) is None and (direct is None or direct[1].key == f"@{name}")

    def number(self, name: str) -> int:
        """Give a field that must be a whole number; end the rule where it is unknown or null."""
        data = self.data(name)
        if not isinstance(data, int) or isinstance(data, bool):
            raise Unjudged(name, "it is not set to a number")
        return data

    def version(self, library: str) -> Version:
        """Give a library's version; forks over the candidates where several are possible."""
        self._asked = True
        if library in self.chosen:
            return self.chosen[library]
        resolved = self.versions.get(library)
        if resolved is None or not resolved.candidates:
            raise Unjudged(library, f"the version of {library} is not known")
        if len(resolved.candidates) == 1:
            return resolved.candidates[0]
        raise Fork(library, resolved.candidates)

    def pinned(self, library: str) -> bool:
        """Say whether anything says which version of a library runs."""
        resolved = self.versions.get(library)
        return resolved is not None and resolved.pin is not None

    def within(self, window: Window) -> bool:
        """Say whether the library of a window stands inside it; forks like `version`."""
        return window.holds(self.version(window.library))

    def env(self, name: str) -> Value | None:
        """Give an environment variable of the training process; None where nobody sets it."""
        return self.launch.environment.get(name)

    def habit(self, name: str) -> Data:
        """Give a fact of the framework by name; None where it has no such habit; forks where it depends on a version.

        The names are listed in `meshlint.config.framework`.
        """
        habit = self.framework.habits.get(name)
        told = habit(self) if callable(habit) else habit
        windows = told if isinstance(told, tuple) else (told,)
        if all(isinstance(w, Window) for w in windows):
            return any(self.within(w) for w in windows)
        return told

    def _world(self) -> Value:
        """Give the ranks of this role: what the framework says of it, else the launch's own."""
        derive = self.framework.derive.get(WORLD)
        derived = derive(self) if derive is not None else None
        nothing = "nothing says how many ranks are launched; --world-size does"
        return derived or self.launch.world or unknown(nothing)

    def _resolve(self, name: str) -> Value:
        if name == WORLD:
            return self._world()
        written, direct = self._written(name), self.launch.find(f"@{name}")
        found = written or direct
        if found is not None and (found.is_set or (found.is_unknown and written is not None)):
            return found
        derive = self.framework.derive.get(name)
        derived = derive(self) if derive is not None else None
        if derived is not None:
            return derived
        shape = self._shape(name)
        if direct is not None and direct.is_unknown:  # a reader that knows no shape; the model's id may still tell
            return direct if shape is None or shape.is_unknown else shape
        if shape is not None:
            return shape
        if found is not None and any(o.kind is not Kind.DERIVED for o in found.origins):
            return found  # a default that the framework's own files give, of the very version that is launched
        for row in self.framework.defaults:
            if row.field == name and (row.window is None or self.within(row.window)):
                return default(row.data, self._default_note(row.window))
        return default(None, "not set, and no default")

    def _shape(self, name: str) -> Value | None:
        """Ask the model's shape, where the framework names models and the field is part of a shape."""
        if name not in SHAPE_FIELDS or self.shapes is None or not self._names_models() or self._writes_shape():
            return None
        return self.shapes.value(name, self.value("model_id"))

    def _writes_shape(self) -> bool:
        """Say whether the launch writes a shape itself: then what it does not write has the framework's default.

        A model that is named beside it counts for more, unless the framework takes shapes from its settings only.
        """
        if self._written("model_id") is not None and not self.habit("shape_is_written"):
            return False
        written = (self._written(name) for name in ("num_layers", "hidden_size", "num_attention_heads"))
        return any(value is not None and value.is_set for value in written)

    def _names_models(self) -> bool:
        return any(spelling.field == "model_id" for spelling in self.framework.spellings)

    def _default_note(self, window: Window | None) -> str:
        note = f"the default of {self.framework.title}"
        return note if window is None else f"{note} at {window.library} {self.version(window.library)}"

    def _written(self, name: str) -> Value | None:
        spelt = _spellings(self.framework, self.role).get(name)
        found = self.launch.latest(spelt) if spelt else None
        if spelt is None or found is None:
            return None
        key, write = found
        return self._parsed(name, write.value, spelt[key].convert)

    def _parsed(self, name: str, value: Value, convert: object) -> Value:
        if value.is_unknown:
            return value
        try:
            data = convert(value.data) if callable(convert) else value.data
            return value.with_data(FIELDS[name].parse(data))
        except ValueError as error:
            return unknown(str(error), *value.origins)


def spelled(name: str, launch: Launch, framework: Framework, role: Role) -> str:
    """Give the key that a field has in a launch: the one that is written, else the shortest; empty if it has none."""
    keys = _spellings(framework, role).get(name, {})
    written = [key for key in keys if next(launch.history(key), None) is not None]
    return min(written or keys, key=len, default="")


def option(data: Data, text: str) -> Value:
    """Make a value given on meshlint's own command line."""
    return Value(State.SET, data, (Origin(Kind.OPTION, text=text),))


@cache
def _spellings(framework: Framework, role: Role) -> Mapping[str, Mapping[str, Spelling]]:
    """Give the spellings of a role by field and key."""
    table: dict[str, dict[str, Spelling]] = {}
    for spelling in framework.spellings:
        keys = table.setdefault(spelling.field, {})
        for key in spelling.keys:
            keys[key.replace("{role}", role.prefix).replace("{parent}", role.parent)] = spelling
    return table
