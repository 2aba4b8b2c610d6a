"""The dims of a mesh: an open tree of leaf dims, two layouts of the same ranks, and meshes with sizes.

A set of leaf dims is a bit mask (`int`). Bits are stable: a dim that is added later takes the next bit. Dense and
expert dims are two factorings of the same rank numbers (source: megatron-core parallel_state.py `RankGenerator`, order
tp-cp-ep-dp-pp with tp fastest), so that they overlap by rank numbers and not by name; `pp` belongs to both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from math import prod
from zlib import crc32

from meshlint.records import dataclass

ALL = (1 << 32) - 1
"""Every leaf dim there is or may be: the dims of the world, and the var of a rank-local value."""


class Overlap(IntEnum):
    """Whether two sets of dims can both vary between two ranks: never, for some sizes, always."""

    NONE = 0
    WEAK = 1
    STRONG = 2


@dataclass(frozen=True, slots=True)
class Axes:
    """The leaf dims that a program knows, and how they lay out ranks.

    `leaves` gives the name of each bit; `children` gives the leaves below a name that is no leaf (`cp` over `cp.0`
    and `cp.1`); `dense` and `expert` are the two layouts, fastest leaf first, as bit indices.
    """

    leaves: tuple[str, ...]
    children: tuple[tuple[str, tuple[str, ...]], ...]
    dense: tuple[int, ...]
    expert: tuple[int, ...]

    def mask(self, *names: str) -> int:
        """Give the mask of the named dims; `world` is every dim. Raises KeyError for a name that is not there."""
        mask = 0
        for name in names:
            mask |= self._one(name)
        return mask

    def _one(self, name: str) -> int:
        if name == "world":
            return ALL
        for parent, below in self.children:
            if parent == name:
                return self.mask(*below)
        if name not in self.leaves:
            raise KeyError(name)
        return 1 << self.leaves.index(name)

    def extended(self, name: str, *, below: tuple[str, ...] = (), fastest: bool = False) -> Axes:
        """Add a dense dim (slowest unless `fastest`), or a parent over existing leaves if `below` is given."""
        if below:
            return Axes(self.leaves, (*self.children, (name, below)), self.dense, self.expert)
        index = len(self.leaves)
        dense = (index, *self.dense) if fastest else (*self.dense, index)
        expert = (index, *self.expert) if fastest else (*self.expert, index)
        return Axes((*self.leaves, name), self.children, dense, expert)

    def bits(self, mask: int) -> Iterator[int]:
        """Give the indices of the known leaves in `mask`, lowest first."""
        return (index for index in range(len(self.leaves)) if mask >> index & 1)

    def names(self, mask: int) -> tuple[str, ...]:
        """Name the dims of a mask, a parent standing for all of its leaves; the world is `world`."""
        if mask & self.everything == self.everything:
            return ("world",)
        given: list[tuple[int, str]] = []
        rest = mask
        for parent, _ in self.children:
            whole = self._one(parent)
            if whole and rest & whole == whole:
                given.append((min(self.bits(whole)), parent))
                rest &= ~whole
        given += [(index, self.leaves[index]) for index in self.bits(rest)]
        return tuple(name for _, name in sorted(given))

    def label(self, mask: int) -> str:
        """Name a mask in one word, slowest dim first as the field does: `dp-cp`."""
        if mask & self.everything == self.everything:
            return "world"
        return "-".join(reversed(self.names(mask))) or "none"

    @property
    def everything(self) -> int:
        """The mask of all known leaves."""
        return (1 << len(self.leaves)) - 1

    @property
    def dense_only(self) -> int:
        """The mask of the leaves that only the dense layout has."""
        return _mask(self.dense) & ~_mask(self.expert)

    @property
    def expert_only(self) -> int:
        """The mask of the leaves that only the expert layout has."""
        return _mask(self.expert) & ~_mask(self.dense)

    def beside(self, mask: int) -> int:
        """Give the mask of what stays fixed inside of an instance over `mask`: the other leaves of its layout."""
        return _mask(self.expert if mask & self.expert_only else self.dense) & ~mask

    def overlap(self, left: int, right: int) -> Overlap:
        """Say whether two masks meet: by a common leaf, or weakly by a dense and an expert leaf."""
        if left & right:
            return Overlap.STRONG
        crossing = left & self.dense_only and right & self.expert_only
        crossing = crossing or (left & self.expert_only and right & self.dense_only)
        return Overlap.WEAK if crossing else Overlap.NONE


def _mask(indices: Iterable[int]) -> int:
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask


_KNOWN = ("tp", "cp.0", "cp.1", "dp.0", "dp.1", "pp", "etp", "ep", "edp")
_APART = tuple(range(len(_KNOWN), len(_KNOWN) + 8))

UNKNOWN = _mask(_APART)
"""Leaves that stand for groups of which only the identity is known: each such group has one of them to itself."""

STANDARD = Axes(
    leaves=(*_KNOWN, *(f"?{index}" for index in _APART)),
    children=(("cp", ("cp.0", "cp.1")), ("dp", ("dp.0", "dp.1"))),
    dense=(0, 1, 2, 3, 4, 5, *_APART),
    expert=(6, 7, 8, 5, *_APART),
)
"""The dims of megatron-core: `cp` hierarchical, `dp` inside (0) and across (1) optimizer instances; unknown groups."""


def leaf_of(name: str) -> int:
    """Give the mask of the leaf for an unknown group, by what tells the group from others: alike in every process."""
    return 1 << _APART[crc32(name.encode("utf-8", "surrogatepass")) % len(_APART)]


@dataclass(frozen=True, slots=True)
class Mesh:
    """A concrete mesh: a size for every leaf of `axes`, by bit index. Both layouts hold the same number of ranks."""

    axes: Axes
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse layouts that do not hold the same ranks."""
        if len(self.sizes) != len(self.axes.leaves) or self._count(self.axes.dense) != self._count(self.axes.expert):
            raise ValueError("the two layouts of a mesh hold different numbers of ranks")

    def _count(self, layout: tuple[int, ...]) -> int:
        return prod(self.sizes[index] for index in layout)

    @property
    def world(self) -> int:
        """The number of ranks."""
        return self._count(self.axes.dense)

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """Give the coordinate of `rank` (0 <= rank < world) on every leaf."""
        return _decoded(self)[rank]

    def extent(self, mask: int) -> int:
        """Give the number of settings of the leaves in `mask`; the world counts every rank once."""
        if mask & self.axes.everything == self.axes.everything:
            return self.world
        return prod(self.sizes[index] for index in self.axes.bits(mask))

    def index(self, rank: int, mask: int) -> int:
        """Give the place of `rank` among the settings of the leaves in `mask`, fastest leaf first."""
        if mask & self.axes.everything == self.axes.everything:
            return rank
        coordinates, place, stride = self.coordinates(rank), 0, 1
        for index in self._ordered(mask):
            place += coordinates[index] * stride
            stride *= self.sizes[index]
        return place

    def _ordered(self, mask: int) -> tuple[int, ...]:
        order = (*self.axes.dense, *(index for index in self.axes.expert if index not in self.axes.dense))
        return tuple(index for index in order if mask >> index & 1)

    def others(self, rank: int, mask: int) -> tuple[int, ...]:
        """Give the coordinates that stay fixed in a group over `mask`: all leaves of its layout that are not in it."""
        if mask & self.axes.everything == self.axes.everything:
            return ()
        layout = self.axes.expert if mask & self.axes.expert_only else self.axes.dense
        coordinates = self.coordinates(rank)
        return tuple(coordinates[index] for index in layout if not mask >> index & 1)

    def project(self, rank: int, mask: int) -> tuple[int, ...]:
        """Give the coordinates of `rank` on the leaves in `mask`."""
        coordinates = self.coordinates(rank)
        return tuple(coordinates[index] for index in self.axes.bits(mask))


@lru_cache(maxsize=256)
def _decoded(mesh: Mesh) -> tuple[tuple[int, ...], ...]:
    return tuple(_decode(mesh, rank) for rank in range(mesh.world))


def _decode(mesh: Mesh, rank: int) -> tuple[int, ...]:
    coordinates = [0] * len(mesh.sizes)
    for layout in (mesh.axes.expert, mesh.axes.dense):
        rest = rank
        for index in layout:
            coordinates[index] = rest % mesh.sizes[index]
            rest //= mesh.sizes[index]
    return tuple(coordinates)


def mesh_of(axes: Axes, **sizes: int) -> Mesh:
    """Make a mesh from the sizes of dims by name (`cp=4` fills the first leaf of `cp`); expert sizes follow.

    Unless told otherwise `etp` is `tp`, `ep` is 1 and `edp` holds the rest, as megatron-core does.
    """
    full = [1] * len(axes.leaves)
    for name, size in sizes.items():
        full[min(axes.bits(axes.mask(name.replace("_", "."))))] = size
    return Mesh(axes, _with_expert(axes, full, tuple(name.replace("_", ".") for name in sizes)))


def _with_expert(axes: Axes, full: list[int], given: tuple[str, ...]) -> tuple[int, ...]:
    expert = [index for index in axes.expert if index not in axes.dense]
    if not expert:
        return tuple(full)
    total = prod(full[index] for index in axes.dense if index not in axes.expert)
    if "etp" in axes.leaves and "etp" not in given and "tp" in axes.leaves:
        size = full[axes.leaves.index("tp")]
        known = prod(full[index] for index in expert)
        full[axes.leaves.index("etp")] = size if total % (size * known) == 0 else 1
    rest = axes.leaves.index("edp") if "edp" in axes.leaves else expert[-1]
    if axes.leaves[rest] not in given:
        taken = prod(full[index] for index in expert if index != rest)
        full[rest] = max(1, total // taken)
    return tuple(full)
