"""What a library model says: one `Entry` for each name that the engine must know without reading its source.

Models are data. The engine asks by dotted name; an entry answers for every name that ends with one of its `names` at a
dot (`mpu.get_data_parallel_group` answers for `self.mpu.get_data_parallel_group` and
`megatron.core.mpu.get_data_parallel_group`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from meshlint.mesh.dims import STANDARD
from meshlint.records import dataclass

Kind = Literal[
    "rank", "size", "group", "first", "last", "member", "source", "op", "p2p", "barrier-manager", "gate-decorator",
    "manager", "pure", "local", "mesh", "mesh-dim", "config", "unwrap", "ranks", "object", "yes",
    "unordered",
]  # fmt: skip
"""What calling (or reading) the name gives:

`rank`, `size`: the place in, the extent of, `dims` (or of the group argument); `group`: the process group over `dims`;
`first`, `last`: whether the rank is the first, the last along `dims`; `barrier-manager`: a context manager through
which the first rank along `dims` goes before the others, who wait at a barrier; `member`: whether the rank has an
instance of the group; `source`: the global rank of the first (`place`) member of the rank's instance over `dims`;
`ranks`: the global ranks of the instance; `op`: an event (a collective); `p2p`: matched by peer, never an event;
`manager`: a context manager that is balanced; `gate-decorator`: the function runs only on the first rank along
`dims`; `pure`: a function of its arguments without events; `local`: a value that is free for each rank; `mesh`: a
device mesh over the names given; `config`: an object whose attributes are settings; `unwrap`: gives its first
argument; `object`: an object that is not None; `yes`: a test that holds wherever there is more than one rank;
`unordered`: elements that each rank may find in another order.
"""

Effect = Literal["none", "in-place", "returns", "list"]
"""What an event makes uniform over its group: nothing, its payload, its result, the elements of its payload."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model.

    `dims` are names of `meshlint.mesh.dims`; `extra` are keywords (and positions) that add dims when they are true.
    `group` gives position and keyword of the group argument, -1 for none; without the argument an event is on `dims`.
    `op` names the event; `root` the source argument, a rank of the job, and `group_root` the keyword of one that is a
    place in the group; `root_first` says that without both it is the first rank of the job; `payload` the argument that
    carries the data; `agree` arguments whose values must agree between ranks. `composite` marks an event that stands
    for many. `off` is a keyword that, if true, leaves no event; `on` one without which, true, there is none.
    `inherited` marks methods that classes of programs have of a library's. `differs` marks a local value that is sure
    to differ somewhere. An event whose `place` is `receiver` is one of the ranks that share the tensor it is called
    on. `source` says where this can be checked.
    """

    names: tuple[str, ...]
    kind: Kind
    source: str
    dims: tuple[str, ...] = ()
    extra: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    op: str = ""
    group: tuple[int, str] = (-1, "")
    root: tuple[int, str] = (-1, "")
    group_root: str = ""
    root_first: bool = False
    payload: tuple[int, str] = (-1, "")
    agree: tuple[tuple[int, str], ...] = ()
    effect: Effect = "none"
    composite: bool = False
    creates: bool = False
    object_form: bool = False
    asynchronous: str = ""
    place: str = "first"
    attribute: bool = False
    weak: bool = False
    members: str = ""
    identity: str = ""
    off: str = ""
    on: str = ""
    inherited: bool = False
    differs: bool = False


def under(prefixes: Iterable[str], entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Put every name of the entries under each of the prefixes."""
    chosen = tuple(prefixes)
    return tuple(replace(e, names=tuple(f"{p}.{n}" for p in chosen for n in e.names)) for e in entries)


class ModelError(ValueError):
    """A user's model that cannot be read; the message is one sentence."""


def from_settings(rows: Iterable[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Read the entries of `[[tool.meshlint.models]]`.

    A row has `names` (a list), `kind`, and any other field of `Entry`; pairs are lists (`group = [1, "group"]`).
    Raises ModelError with the reason.
    """
    return tuple(_from_row(row) for row in rows)


_FIELDS = {
    "names": tuple, "kind": str, "source": str, "dims": tuple, "op": str, "group": tuple, "root": tuple,
    "payload": tuple, "effect": str, "composite": bool, "creates": bool, "object_form": bool, "asynchronous": str,
    "place": str, "attribute": bool, "weak": bool, "group_root": str, "root_first": bool, "members": str,
    "identity": str, "off": str, "differs": bool,
}  # fmt: skip


_PAIRS = ("group", "root", "payload")
"""Fields that hold the position of an argument, -1 for none, and its keyword."""

_PLACES = ("first", "last", "argument", "receiver")

_OF_RANKS = frozenset(("op", "rank", "size", "group", "first", "last", "member", "source", "ranks", "gate-decorator"))
"""Kinds that say nothing without the ranks that they speak of."""


def _from_row(row: Mapping[str, Any]) -> Entry:
    unknown = sorted(set(row) - set(_FIELDS))
    if unknown:
        raise ModelError(f"a model has no field {unknown[0]!r}; it has {', '.join(_FIELDS)}")
    names = row.get("names")
    if not isinstance(names, list) or not names or row.get("kind") not in get_args(Kind):
        raise ModelError(f"a model needs `names`, a list, and `kind`, one of {', '.join(get_args(Kind))}")
    wrong = [name for name in names if not isinstance(name, str) or not _dotted(name)]
    if wrong:
        raise ModelError(f"a model's name is that of a function, with or without its module, and not {wrong[0]!r}")
    values = {"source": "user settings", **{name: _value(names[0], name, value) for name, value in row.items()}}
    if row["kind"] in _OF_RANKS and not values.get("dims") and "group" not in values:
        raise ModelError(
            f'the model of {names[0]!r}: {row["kind"]} needs `dims`, such as ["world"] or ["dp"], or `group`, the '
            f"position and keyword of the argument that is the group"
        )
    if row["kind"] == "op":
        values = {"op": names[0].rpartition(".")[2], **values}
    return Entry(**values)


def _dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _value(model: str, name: str, value: Any) -> Any:
    """Read one field of a model."""
    head, wanted = f"the model of {model!r}: {name}", _FIELDS[name]
    if name in _PAIRS:
        if not isinstance(value, list) or [type(part) for part in value] != [int, str]:
            raise ModelError(f'{head} must be the position and the keyword of an argument, such as [1, "group"]')
        return tuple(value)
    if wanted is tuple:
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise ModelError(f"{head} must be a list of names")
        if name == "dims":
            _known_dims(head, value)
        return tuple(value)
    if not isinstance(value, wanted):
        raise ModelError(f"{head} must be {_TYPES[wanted]}")
    allowed = {"effect": get_args(Effect), "place": _PLACES}.get(name)
    if allowed is not None and value not in allowed:
        raise ModelError(f"{head} must be one of {', '.join(allowed)}")
    return value


_TYPES = {str: "text", bool: "true or false"}


def _known_dims(head: str, dims: list[str]) -> None:
    for name in dims:
        try:
            STANDARD.mask(name)
        except KeyError:
            parents = [parent for parent, _ in STANDARD.children]
            leaves = [leaf for leaf in STANDARD.leaves if not leaf.startswith("?")]
            known = ", ".join(("world", *sorted({*parents, *leaves})))
            raise ModelError(f"{head} has no {name!r}; there are {known}") from None
