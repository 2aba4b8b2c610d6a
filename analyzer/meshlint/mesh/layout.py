"""The rank grid of a launch: which ranks are in which group, and on which nodes they are.

Ranks are laid out as megatron-core's `RankGenerator` does, by an order string whose first word varies fastest
(core_v0.16.1 parallel_state.py:432-500, :770-820; main :595 for the axes of weight shards). Experts are a second layout
of the same ranks, in which cp is no axis. Node k holds the ranks from k * per_node on, as torchrun, srun and sorted
placement groups number them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from meshlint.mesh.dims import Axes, Mesh

ORDER = "tp-cp-ep-dp-pp"
STAGES_FIRST = "tp-cp-ep-pp-dp"
"""The order under `use_tp_pp_dp_mapping`."""

MAX_RANKS = 32_768
"""Ranks of a grid whose groups are listed; nobody trains on more."""

_LEAVES = ("tp", "shards", "cp.0", "cp.1", "dp", "pp", "etp", "ep", "expert-shards", "edp")
_DENSE: Mapping[str, tuple[str, ...]] = {
    "tp": ("tp", "shards"),
    "cp": ("cp.0", "cp.1"),
    "dp": ("dp",),
    "pp": ("pp",),
}
_EXPERT: Mapping[str, tuple[str, ...]] = {
    "tp": ("etp",),
    "ep": ("ep", "expert-shards"),
    "dp": ("edp",),
    "pp": ("pp",),
}

Groups = tuple[tuple[int, ...], ...]
"""The groups over some dims, each its ranks in ascending order, sorted by the first."""


def axes(order: str = ORDER) -> Axes:
    """Give the dims of a rank order, fastest first."""
    words = order.split("-")

    def layout(table: Mapping[str, tuple[str, ...]]) -> tuple[int, ...]:
        return tuple(_LEAVES.index(leaf) for word in words for leaf in table.get(word, ()))

    return Axes(_LEAVES, (("cp", ("cp.0", "cp.1")),), layout(_DENSE), layout(_EXPERT))


def grid(sizes: Mapping[str, int], order: str = ORDER) -> Mesh:
    """Make the grid from the size of each leaf; those that are not given are 1.

    Raises ValueError where the dense layout and that of the experts hold different numbers of ranks.
    """
    return Mesh(axes(order), tuple(sizes.get(leaf, 1) for leaf in _LEAVES))


def groups(mesh: Mesh, *dims: str) -> Groups:
    """Give every group over some dims; raises KeyError for a dim that is not there."""
    mask = mesh.axes.mask(*dims)
    found: dict[tuple[int, ...], list[int]] = {}
    for rank in range(mesh.world):
        found.setdefault(mesh.others(rank, mask), []).append(rank)
    return tuple(sorted(tuple(ranks) for ranks in found.values()))


def level(whole: Groups, sizes: Sequence[int], at: int) -> Groups:
    """Cut groups into the groups of one level; the first level is the innermost.

    The sizes multiply to the size of each group (core_v0.16.1 parallel_state.py:360-419, `create_hierarchical_groups`).
    """
    stride, count = prod(sizes[:at]), sizes[at]
    cut = []
    for ranks in whole:
        starts = (start for start in range(len(ranks)) if start // stride % count == 0)
        cut += [tuple(ranks[start + place * stride] for place in range(count)) for start in starts]
    return tuple(sorted(cut))


def nodes(ranks: Sequence[int], per_node: int) -> int:
    """Count the nodes that hold some ranks."""
    return len({rank // per_node for rank in ranks})


def stages_agree(mesh: Mesh) -> bool:
    """Say whether both layouts put each rank into the same pipeline stage, which megatron-core asserts (:810)."""
    places = []
    for layout in (mesh.axes.dense, mesh.axes.expert):
        at = layout.index(_LEAVES.index("pp"))
        places.append(prod(mesh.sizes[index] for index in layout[:at]))
    return mesh.sizes[_LEAVES.index("pp")] == 1 or places[0] == places[1]
