"""What every surface is read into: a launch in its framework's own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatchcase

from meshlint.config.value import EMPTY, Value
from meshlint.place import Span
from meshlint.records import dataclass


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
    counts: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    """What the launchers and the job's own directives said, by name: `nodes`, `tasks`, `tasks_per_node`, `gpus` (a
    node) and `all_gpus` of Slurm, `nnodes` and `nproc` of torchrun; `srun` is set where srun starts the command."""
    reads: frozenset[str] = frozenset()
    """Paths, as shown, of every file that took part."""
    _order: dict[str, int] = field(init=False, default_factory=dict, compare=False, repr=False)
    """The last place in `writes` of each key, made when it is first asked for, and of each key with `*`."""
    _wild: dict[str, int] = field(init=False, default_factory=dict, compare=False, repr=False)

    def find(self, key: str) -> Value | None:
        """Give the value in force for `key`: the last write that reaches it, or None."""
        found = self.latest((key,))
        return None if found is None else found[1].value

    def latest(self, keys: Iterable[str]) -> tuple[str, Write] | None:
        """Give the last write that reaches any of `keys`, and which of them; None where there is none."""
        if not self._order:
            self._order.update({write.key: at for at, write in enumerate(self.writes)})
            self._wild.update({key: at for key, at in self._order.items() if "*" in key})
        last, reached = -1, ""
        for key in keys:
            at = max([self._order.get(key, -1), *(at for p, at in self._wild.items() if fnmatchcase(key, p))])
            if at > last:
                last, reached = at, key
        return None if last < 0 else (reached, self.writes[last])

    def history(self, key: str) -> Iterator[Write]:
        """Give every write of `key`, in order."""
        return (w for w in self.writes if w.key == key)
