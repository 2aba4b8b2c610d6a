"""How pictures name ranks and groups, and what the names stand for that the program does not use itself.

A rank is named by its coordinates. Where a group is only a value, its dims are not known, and the rank's position
inside of it takes their place; where nothing but the job's ranks is in question, its number does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meshlint.mesh.blame import Fault
from meshlint.mesh.choose import parts
from meshlint.mesh.dims import ALL, UNKNOWN, Axes, Mesh
from meshlint.mesh.gate import Expr
from meshlint.mesh.group import TENSOR, Group
from meshlint.mesh.pairing import Instead
from meshlint.mesh.segment import condition_of
from meshlint.mesh.term import Op
from meshlint.records import dataclass
from meshlint.told import told_line

DIM = f"{TENSOR}dim "
"""How the identity begins of a dim that the program itself names."""
LONGEST = 60
"""Longer names of groups are cut."""
LONGEST_DIM = 16
"""Longer names of dims are not put before each coordinate."""

_LETTERS = "abcdefgh"
"""One for each leaf that may stand for an unknown group."""

LEVELS = {
    "cp.0": "the inner level of hierarchical context parallelism",
    "cp.1": "the outer level of hierarchical context parallelism",
    "dp.0": "the data-parallel ranks inside of one instance of the optimizer",
    "dp.1": "the data-parallel ranks across the instances of the optimizer",
}
"""What the leaves stand for that only a part of a dim has."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the ranks of one fault.

    `dims` gives, in order, the name of what is shown and its mask; `positions` the groups that a position is inside
    of, by its mask; `said` the leaves that some group or condition of the fault speaks of.
    """

    mesh: Mesh
    dims: tuple[tuple[str, int], ...]
    positions: tuple[tuple[int, tuple[Group, ...]], ...]
    said: int

    def place(self, rank: int) -> str:
        """Name a rank by its coordinates on the dims that have more than one rank: `tp0 cp1`."""
        return " ".join(f"{name}{self.mesh.index(rank, mask)}" for name, mask in self.dims) or "rank0"


def names_of(fault: Fault) -> Names:
    """Name the ranks of a fault."""
    mesh = fault.run.mesh
    groups = list(dict.fromkeys(_groups(fault)))
    said = 0
    for mask in (*(group.dims for group in groups), *_asked(fault)):
        said |= 0 if mask == ALL else mask
    shown = list(dict.fromkeys(_dim(mesh, index) for index in mesh.axes.dense if mesh.sizes[index] > 1))
    unknown = tuple((mask, tuple(g for g in groups if g.unknown and g.dims & mask)) for mask in shown if mask & UNKNOWN)
    if not said:
        return Names(mesh, (("rank", ALL),), (), said)
    own = {mask: name for mask, inside in unknown if (name := _own_name(mesh.axes, inside))}
    bare = [mask for mask, _ in unknown if mask not in own]
    own |= {mask: "place" if len(bare) == 1 else f"place-{_LETTERS[at]}" for at, mask in enumerate(bare)}
    dims = tuple((own.get(mask) or mesh.axes.label(mask), mask) for mask in shown)
    return Names(mesh, dims, tuple((mask, inside) for mask, inside in unknown if mask in bare), said)


def _dim(mesh: Mesh, index: int) -> int:
    """Give the mask of the dim that a leaf is shown by: the whole dim where it has several."""
    leaf = mesh.axes.leaves[index]
    for parent, below in mesh.axes.children:
        if leaf in below:
            return mesh.axes.mask(parent)
    return 1 << index


def _own_name(axes: Axes, inside: Sequence[Group]) -> str:
    """Give the program's own name of a dim, if it has one that can stand before a coordinate."""
    if len(inside) != 1 or not inside[0].identity.startswith(DIM):
        return ""
    name = inside[0].name
    fits = name.isidentifier() and len(name) <= LONGEST_DIM and not name[-1].isdigit()
    taken = (*axes.leaves, *(parent for parent, _ in axes.children), "rank", "place")
    return name if fits and name not in taken else ""


def _groups(fault: Fault) -> Iterator[Group]:
    """Give every group that a fault speaks of, in the order of the run."""
    yield fault.stuck.group
    yield from (item.group for item in fault.run.stuck)
    for events in fault.run.events:
        yield from (event.op.group for event in events)
    for expr in parts(tuple(_conditions(fault))):
        yield from (arg for arg in expr.args if isinstance(arg, Group))


def _asked(fault: Fault) -> Iterator[int]:
    """Give the dims that the conditions of a fault ask for."""
    for expr in parts(tuple(_conditions(fault))):
        if expr.op in ("coord", "extent"):
            yield expr.args[0]
        elif expr.op in ("atom", "recv") and not expr.local:
            yield expr.var


def _conditions(fault: Fault) -> Iterator[Expr]:
    if fault.node is not None:
        yield condition_of(fault.node)
    for path in fault.run.paths:
        yield from (condition_of(taken.node) for taken in path)
    for _, op in fault.stuck.arrived:
        yield from (expr for expr in (op.root, *op.agree) if expr is not None)
    yield from (expr for expr in (fault.stuck.group.members, fault.stuck.group.lists) if expr is not None)


def legend(fault: Fault, instead: Sequence[Instead] = ()) -> str:
    """Say what the names of a picture stand for that are not the program's own, a line each; "" for none."""
    names = names_of(fault)
    ranks = (*_positions(fault, names), *_others(fault, names), *_experts(fault, names))
    return "\n".join((*ranks, *_levels(fault), *_ops(fault, instead)))


def _counted(names: Names, name: str, mask: int) -> str:
    """Write all coordinates of a dim: `place0, place1`, `place0 to place3`."""
    last = names.mesh.extent(mask) - 1
    return f"{name}0, {name}1" if last == 1 else f"{name}0 to {name}{last}"


def _positions(fault: Fault, names: Names) -> Iterator[str]:
    """Tell inside of what a position is, where no dim is known along which it could be counted."""
    called = {mask: name for name, mask in names.dims}
    for mask, inside in names.positions:
        line = "" if fault.node is None else f" that line {told_line(fault.node.gate.site.span)} asks for"
        told = " and ".join(dict.fromkeys(map(_inside, inside)))
        where = told or f"along a dim{line}, which is not known here"
        yield f"{_counted(names, called[mask], mask)}: positions {where}"


def _inside(group: Group) -> str:
    if group.identity.startswith(DIM):
        return f"along the mesh dim `{_short(group.name)}`"
    name = group.name if group.of_program else f"group `{_short(group.name)}`"
    return f"inside the {name}, whose dims are not known here"


def _others(fault: Fault, names: Names) -> Iterator[str]:
    """Tell of dims that nothing speaks of, beside a group that is unknown: some ranks must lie outside of it."""
    for name, mask in names.dims if fault.stuck.group.unknown else ():
        if not mask & (names.said | UNKNOWN):
            yield f"{_counted(names, name, mask)}: ranks of the job in different groups"


def _experts(fault: Fault, names: Names) -> Iterator[str]:
    """Tell why an expert group holds ranks that differ in dims of the other layout."""
    group, axes = fault.stuck.group, names.mesh.axes
    if group.dims == ALL or not group.dims & axes.expert_only:
        return
    apart = [
        name
        for name, mask in names.dims
        if len({names.mesh.index(rank, mask) for rank in fault.stuck.members}) > 1 and mask & axes.dense_only
    ]
    if apart:
        told = f"experts lay the ranks out in dims of their own; one group holds several {' and '.join(apart)}"
        yield f"{axes.label(group.dims)}: {told}"


def _levels(fault: Fault) -> Iterator[str]:
    axes = fault.run.mesh.axes
    met: dict[str, None] = {}
    for group in _groups(fault):
        if group.dims != ALL and not group.unknown:
            met |= dict.fromkeys(name for name in axes.names(group.dims) if name in LEVELS)
    yield from (f"{name}: {LEVELS[name]}" for name in met)


def _ops(fault: Fault, instead: Sequence[Instead]) -> Iterator[str]:
    """Tell by which call a collective is made whose name is not written there."""
    ops = [op for _, op in fault.stuck.arrived] + [item.op for item in instead if item.op is not None]
    told = dict.fromkeys((op.kind, called) for op in ops if (called := _hides(op)))
    for kind, called in told:
        several = any("composite" in op.flags for op in ops if op.kind == kind)
        yield f"{kind}: {'stands for the collectives' if several else 'made'} inside `{_short(called)}`"


def _hides(op: Op) -> str:
    """Give the call that makes a collective, if another name is written there."""
    label = op.site.frames()[-1].label
    name = label.rpartition(".")[2]
    return "" if not name.isidentifier() or name.startswith(op.kind) or op.kind.startswith(name) else label


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
