"""What every surface is read into: a launch in its framework's own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from meshlint.config.value import EMPTY, Value
from meshlint.place import Span


@dataclass(frozen=True, slots=True)
class Write:
    """One assignment to a key of the framework, in the order in which assignments take effect.

    Keys are spelt as the framework spells them: a flag without its dashes and with underscores
    (`tensor_model_parallel_size`), a dotted path (`actor_rollout_ref.actor.megatron.context_parallel_size`,
    `model.context_parallel_size`). A key with `*` is a write of unknown extent, and its value is unknown: whatever
    it matches and is not written afterwards is unknown too. A key `@context_parallel_size` gives a canonical field
    directly, behind what the framework's own spellings say (a model's shape from a table or a `config.json`).
    `same_place` marks a further write of a key in one command or mapping (CFG001), as opposed to an override by a
    later layer.
    """

    key: str
    value: Value
    same_place: bool = False

    def reaches(self, key: str) -> bool:
        """Say whether this write sets `key`."""
        return self.key == key or ("*" in self.key and fnmatchcase(key, self.key))


@dataclass(frozen=True, slots=True)
class Branch:
    """The arm of an undecided condition that a variant of a launch takes."""

    text: str
    taken: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Pin:
    """A library's version as something near the launch fixes it: a specifier set such as `>=0.15,<0.16`."""

    library: str
    specifier: str
    value: Value


@dataclass(frozen=True, slots=True)
class Launch:
    """One thing that a person can start: what runs together, merged.

    `identity` is stable over edits and holds no line number: the path, and the function or the ordinal of the command
    in it. Launches of one identity are variants of each other and differ in `branches`.
    `environment` holds the variables that reach the training process; `world` is the number of ranks.
    """

    framework: str
    entry: str
    surface: str
    identity: str
    place: Span
    writes: tuple[Write, ...] = ()
    environment: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    nodes: Value | None = None
    gpus_per_node: Value | None = None
    world: Value | None = None
    pins: tuple[Pin, ...] = ()
    branches: tuple[Branch, ...] = ()
    reads: frozenset[str] = frozenset()
    """Paths, as shown, of every file that took part."""

    def find(self, key: str) -> Value | None:
        """Give the value in force for `key`: the last write that reaches it, or None."""
        for write in reversed(self.writes):
            if write.reaches(key):
                return write.value
        return None

    def history(self, key: str) -> Iterator[Write]:
        """Give every write of `key`, in order."""
        return (w for w in self.writes if w.key == key)
