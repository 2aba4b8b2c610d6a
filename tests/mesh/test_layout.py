"""The rank grid: every group as megatron-core's order string defines it, on many sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

import pytest

from meshlint.mesh import layout


def by_definition(order: str, sizes: Mapping[str, int], wanted: set[str]) -> list[tuple[int, ...]]:
    """Group ranks: the first word of the order varies fastest, and a group varies over the wanted words alone."""
    words = order.split("-")
    found: dict[tuple[int, ...], list[int]] = {}
    for rank in range(prod(sizes.get(word, 1) for word in words)):
        rest, fixed = rank, []
        for word in words:
            place, rest = rest % sizes.get(word, 1), rest // sizes.get(word, 1)
            fixed += [] if word in wanted else [place]
        found.setdefault(tuple(fixed), []).append(rank)
    return sorted(map(tuple, found.values()))


def grids() -> Iterator[tuple[str, dict[str, int], dict[str, int]]]:
    for tp, cp, dp, pp in product((1, 2, 3), (1, 2, 4), (1, 2, 3), (1, 2, 4)):
        for etp, ep in ((1, 2), (tp, 1), (2, 4)):
            ranks = tp * cp * dp * pp
            if ranks % (etp * ep * pp) == 0:
                expert = {"tp": etp, "ep": ep, "dp": ranks // (etp * ep * pp), "pp": pp}
                yield layout.ORDER, {"tp": tp, "cp": cp, "dp": dp, "pp": pp}, expert
                yield layout.STAGES_FIRST, {"tp": tp, "cp": cp, "dp": dp, "pp": pp}, expert


def test_groups_are_those_of_the_order_string() -> None:
    count = 0
    for order, dense, expert in grids():
        mesh = layout.grid(
            {
                "tp": dense["tp"],
                "cp.0": dense["cp"],
                "dp": dense["dp"],
                "pp": dense["pp"],
                "etp": expert["tp"],
                "ep": expert["ep"],
                "edp": expert["dp"],
            },
            order,
        )
        for dims in (("tp",), ("cp",), ("dp",), ("pp",), ("dp", "cp"), ("tp", "pp"), ("tp", "dp", "cp")):
            assert list(layout.groups(mesh, *dims)) == by_definition(order, dense, set(dims))
        same = by_definition(order, dense, {"pp"}) == by_definition(order, expert, {"pp"})
        assert layout.stages_agree(mesh) == same
        if same:
            for names, dims in (
                (("etp",), {"tp"}),
                (("ep",), {"ep"}),
                (("etp", "ep"), {"tp", "ep"}),
                (("edp",), {"dp"}),
            ):
                assert list(layout.groups(mesh, *names)) == by_definition(order, expert, dims)
                count += 1
    assert count > 500


def test_weight_shards_stand_behind_tp_and_behind_ep() -> None:
    mesh = layout.grid({"tp": 2, "shards": 2, "dp": 2, "etp": 1, "ep": 2, "expert-shards": 2, "edp": 2})
    assert layout.groups(mesh, "shards") == ((0, 2), (1, 3), (4, 6), (5, 7))
    assert layout.groups(mesh, "expert-shards") == ((0, 2), (1, 3), (4, 6), (5, 7))
    assert layout.groups(mesh, "ep") == ((0, 1), (2, 3), (4, 5), (6, 7))


def test_levels_are_cut_with_the_first_innermost() -> None:
    whole = ((0, 2, 4, 6, 8, 10, 12, 14),)
    assert layout.level(whole, (2, 4), 0) == ((0, 2), (4, 6), (8, 10), (12, 14))
    assert layout.level(whole, (2, 4), 1) == ((0, 4, 8, 12), (2, 6, 10, 14))
    assert layout.level(whole, (2, 2, 2), 1) == ((0, 4), (2, 6), (8, 12), (10, 14))


def test_layouts_that_hold_different_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="different numbers of ranks"):
        layout.grid({"tp": 2, "ep": 3})


def test_nodes_hold_ranks_in_a_row() -> None:
    assert layout.nodes((0, 7), 8) == 1
    assert layout.nodes((0, 8, 16), 8) == 3
    assert layout.nodes((6, 9), 8) == 2
