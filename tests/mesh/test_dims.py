from __future__ import annotations

import pytest
from programs import CP, DP, EP, PP, TP

from meshlint.mesh.dims import ALL, STANDARD, Mesh, Overlap, mesh_of
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse
from meshlint.mesh.gate import Origin, Values
from meshlint.mesh.group import WORLD, Group


def test_ranks_are_laid_out_with_tp_fastest() -> None:
    mesh = mesh_of(STANDARD, tp=2, cp=2, dp=2, pp=2)
    assert mesh.world == 16
    assert [mesh.index(5, mask) for mask in (TP, CP, DP, PP)] == [1, 0, 1, 0]
    assert Layout(mesh).members(Group(DP), 5) == (1, 5)
    assert Layout(mesh).members(Group(DP | CP), 5) == (1, 3, 5, 7)
    assert Layout(mesh).members(WORLD, 5) == tuple(range(16))


def test_experts_refactor_the_same_ranks() -> None:
    mesh = mesh_of(STANDARD, tp=2, dp=2, pp=2, ep=2)
    assert Layout(mesh).members(Group(EP), 1) == (1, 3)
    alone = mesh_of(STANDARD, tp=2, dp=2, etp=1, ep=2)
    assert Layout(alone).members(Group(EP), 0) == (0, 1)


def test_layouts_that_hold_different_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="layouts"):
        Mesh(STANDARD, (2, 1, 1, 1, 1, 1, 1, 1, 1))


def test_hierarchical_context_parallel_is_two_leaves() -> None:
    assert STANDARD.names(CP) == ("cp",)
    assert STANDARD.names(STANDARD.mask("cp.0")) == ("cp.0",)
    assert STANDARD.label(DP | CP) == "dp-cp"
    assert STANDARD.label(ALL) == "world"


def test_dense_and_expert_dims_overlap_weakly() -> None:
    assert STANDARD.overlap(TP, TP | DP) is Overlap.STRONG
    assert STANDARD.overlap(TP, DP) is Overlap.NONE
    assert STANDARD.overlap(TP, EP) is Overlap.WEAK
    assert STANDARD.overlap(PP, EP) is Overlap.NONE
    assert STANDARD.overlap(PP, EP | PP) is Overlap.STRONG


def test_the_tree_is_open_and_bits_stay() -> None:
    wider = STANDARD.extended("remat")
    assert wider.mask("tp") == TP
    assert wider.mask("remat") & STANDARD.everything == 0
    assert wider.mask("remat") & ALL
    both = wider.extended("tp-remat", below=("tp", "remat"))
    assert both.mask("tp-remat") == TP | wider.mask("remat")
    with pytest.raises(KeyError):
        STANDARD.mask("remat")


def test_two_names_of_one_partition_may_be_one_communicator() -> None:
    assert Group(DP, name="dp").may_equal(Group(DP, identity="gloo", name="dp_gloo"))
    assert not Group(DP, identity="nccl").may_equal(Group(DP, identity="gloo"))
    assert not Group(DP).may_equal(Group(DP | CP))


def test_values_are_computed_for_each_rank() -> None:
    values = Values()
    layout = Layout(mesh_of(STANDARD, tp=2, dp=2))
    group = Group(TP, name="tp")
    source = values.global_rank(group, 0)
    assert [evaluate(source, View(layout, rank, refuse)) for rank in range(4)] == [0, 0, 2, 2]
    assert source.var & TP == 0
    inside = values.compare("in", values.rank(), values.ranks((0, 3)))
    assert [evaluate(inside, View(layout, rank, refuse)) for rank in range(4)] == [True, False, False, True]


def test_lists_that_the_mesh_cannot_hold_have_no_meaning() -> None:
    values = Values()
    lists = values.ranks((values.ranks((0, 1)), values.ranks((2, 9))))
    with pytest.raises(Unresolvable):
        Layout(mesh_of(STANDARD, tp=2, dp=2)).members(Group(TP, lists=lists), 0)


def test_expressions_that_are_too_deep_become_atoms() -> None:
    values = Values()
    expr = values.coord(TP)
    for number in range(500):
        expr = values.choose(values.atom(f"c{number}", Origin.CONTRACT), values.arithmetic("+", expr, 1), expr)
    assert expr.depth <= 64
    assert expr.var == TP
