"""Each paragraph of the theory as a protocol: what is right stays silent, what is wrong blocks."""

from __future__ import annotations

import pytest
from programs import DP, PP, TP, Program, at

from meshlint.mesh.dims import STANDARD
from meshlint.mesh.gate import Origin
from meshlint.mesh.group import Group
from meshlint.mesh.simulate import Options, Verdict, simulate
from meshlint.mesh.term import Node


def judged(term: Node, **options: bool) -> Verdict:
    verdict = simulate(term, STANDARD, Options(**options))
    assert verdict.known
    return verdict


def blocks(term: Node, **options: bool) -> bool:
    return judged(term, **options).run is not None


@pytest.fixture
def p() -> Program:
    return Program()


def test_a_gate_on_another_dim_is_right(p: Program) -> None:
    assert not blocks(p.alt(1, p.values.first(TP), p.op(2, "dp")))


def test_a_gate_on_the_groups_own_dim_blocks(p: Program) -> None:
    verdict = judged(p.alt(1, p.values.first(TP), p.op(2, "tp")))
    assert verdict.run is not None
    [stuck] = verdict.run.stuck
    assert (stuck.members, stuck.missing, stuck.how) == ((0, 1), (1,), "wait")


def test_four_ranks_in_a_cycle_though_every_pair_agrees(p: Program) -> None:
    values = p.values
    odd = values.arithmetic("%", values.arithmetic("+", values.coord(TP), values.coord(DP)), 2)
    term = p.alt(1, values.compare("==", odd, 0), p.op(2, "tp", p.op(3, "dp")), p.op(5, "dp", p.op(6, "tp")))
    assert blocks(term)


def test_opposite_orders_under_a_gate_on_one_dim_are_safe(p: Program) -> None:
    gate = p.values.first(PP)
    assert not blocks(p.alt(1, gate, p.op(2, "tp", p.op(3, "dp")), p.op(5, "dp", p.op(6, "tp"))))


def test_opposite_orders_under_a_gate_on_a_dim_of_one_of_them_are_safe(p: Program) -> None:
    gate = p.values.first(TP)
    assert not blocks(p.alt(1, gate, p.op(2, "tp", p.op(3, "dp")), p.op(5, "dp", p.op(6, "tp"))))


def test_a_length_prefix_equates_both_sides(p: Program) -> None:
    values = p.values
    n = values.atom("len(items)", Origin.LOCAL, count=True)
    sender = p.op(3, "tp", p.alt(4, values.compare(">", n, 0), p.op(5, "tp", kind="broadcast")),
                  kind="broadcast", root=values.global_rank(Group(TP), 0), value=n, into=("n",))  # fmt: skip
    got = values.received("n")
    receiver = p.op(8, "tp", p.alt(9, values.compare("==", got, 0), p.end, p.op(11, "tp", kind="broadcast")),
                    kind="broadcast", root=values.global_rank(Group(TP), 0), value=n, into=("n",))  # fmt: skip
    term = p.alt(2, values.first(TP), sender, receiver)
    assert not blocks(term)
    assert not blocks(term, free_locals=True)


def test_without_the_prefix_the_same_test_blocks(p: Program) -> None:
    n = p.values.atom("len(items)", Origin.LOCAL, count=True)
    term = p.alt(4, p.values.compare(">", n, 0), p.op(5, "tp"))
    assert not blocks(term)
    assert blocks(term, free_locals=True)


def embedding() -> tuple[Program, Group]:
    p = Program()
    ends = p.values.either(p.values.first(PP), p.values.last(PP))
    return p, Group(PP, members=ends, name="embd")


def test_a_membership_test_holds_on_all_of_its_group() -> None:
    p, group = embedding()
    verdict = judged(p.alt(1, p.values.member(group), p.op(2, group)))
    assert verdict.run is None
    assert verdict.mesh is not None and verdict.mesh.extent(PP) == 3


def test_a_membership_test_of_another_group_does_not() -> None:
    p, group = embedding()
    verdict = judged(p.alt(1, p.values.member(group), p.op(2, "pp")))
    assert verdict.run is not None
    assert verdict.run.stuck[0].missing == (1,)


def test_a_call_by_a_non_member_is_no_event() -> None:
    p, group = embedding()
    assert not blocks(p.op(2, group))


def test_a_size_test_is_uniform_on_its_group(p: Program) -> None:
    gate = p.values.compare(">", p.values.extent(TP), 1)
    assert not blocks(p.alt(1, gate, p.op(2, "tp")))
    assert not blocks(p.alt(1, gate, p.op(2, "dp")))


def test_an_early_exit_skips_what_comes_after(p: Program) -> None:
    gate = p.values.negate(p.values.first(TP))
    assert blocks(p.alt(1, gate, p.end, p.op(3, "world"), leaves="return"))


def test_an_early_exit_before_a_group_that_it_does_not_divide_is_right(p: Program) -> None:
    gate = p.values.negate(p.values.first(TP))
    assert not blocks(p.alt(1, gate, p.end, p.op(3, "dp"), leaves="return"))


def test_loops_of_unequal_length_block(p: Program) -> None:
    values = p.values
    trip = values.arithmetic("+", values.coord(DP), 1)
    assert blocks(p.loop(1, trip, p.op(2, "dp")))
    assert not blocks(p.loop(1, trip, p.op(2, "tp")))
    batches = values.atom("len(loader)", Origin.OPAQUE, var=DP, count=True)
    assert blocks(p.loop(1, batches, p.op(2, "dp-cp")))
    assert not blocks(p.loop(1, values.atom("steps", Origin.CONFIG, count=True), p.op(2, "dp")))


def test_a_break_on_some_ranks_blocks(p: Program) -> None:
    steps = p.values.atom("steps", Origin.CONFIG, count=True)
    body = p.alt(2, p.values.first(TP), p.terms.stop, p.op(3, "tp"), leaves="break")
    assert blocks(p.loop(1, steps, body))
    assert not blocks(p.loop(1, steps, p.alt(2, p.values.first(PP), p.terms.stop, p.op(3, "tp"), leaves="break")))


def test_async_opposite_orders_pass_and_block_only_when_strict(p: Program) -> None:
    def side(line: int, first: str, second: str) -> Node:
        waits = p.terms.wait("a", p.terms.wait("b", p.end, at(line + 3)), at(line + 2))
        return p.op(line, first, p.op(line + 1, second, waits, handle="b"), handle="a")

    values = p.values
    odd = values.arithmetic("%", values.arithmetic("+", values.coord(TP), values.coord(DP)), 2)
    term = p.alt(1, values.compare("==", odd, 0), side(2, "tp", "dp"), side(10, "dp", "tp"))
    assert not blocks(term)
    assert blocks(term, strict_async=True)


def test_a_wait_for_what_others_never_issue_blocks(p: Program) -> None:
    wait = p.terms.wait("a", p.end, at(3))
    assert blocks(p.alt(1, p.values.first(TP), p.op(2, "tp", wait, handle="a")))


def test_a_main_process_first_gate_is_balanced_further_down(p: Program) -> None:
    gate = p.values.first(TP)
    second = p.alt(5, gate, p.op(6, "tp", kind="barrier"))
    first = p.alt(1, p.values.negate(gate), p.op(2, "tp", second, kind="barrier"), second)
    assert not blocks(first)


def test_sender_and_receiver_on_two_facts_are_one_contract(p: Program) -> None:
    values = p.values
    term = p.alt(1, values.first(TP), p.alt(2, p.atom("key in batch"), p.op(3, "tp", kind="broadcast")),
                 p.alt(5, p.atom("args.sft"), p.op(6, "tp", kind="broadcast")))  # fmt: skip
    assert not blocks(term)


def test_a_contract_that_all_ranks_ask_is_no_way_out(p: Program) -> None:
    assert blocks(p.alt(1, p.atom("key in batch"), p.alt(2, p.values.first(TP), p.op(3, "tp", kind="broadcast"))))


def test_for_every_config_some_contract(p: Program) -> None:
    values = p.values
    sends = p.op(3, "tp", kind="broadcast")
    hybrid = p.atom("args.hybrid", Origin.CONFIG)
    bad = p.alt(1, values.first(TP), sends, p.alt(5, values.negate(hybrid), p.op(6, "tp", kind="broadcast")))
    assert blocks(bad)
    good = p.alt(1, values.first(TP), p.alt(2, p.atom("k"), sends), p.alt(5, hybrid, p.op(6, "tp", kind="broadcast")))
    assert not blocks(good)


def test_an_error_raised_on_an_outside_fact_is_not_a_hang(p: Program) -> None:
    bad = p.atom("not valid")
    term = p.alt(1, p.values.first(TP), p.alt(2, bad, p.terms.exit(at(3)), p.op(4, "tp")), p.op(6, "tp"))
    assert not blocks(term)
    assert blocks(p.alt(1, p.values.first(TP), p.terms.exit(at(3)), p.op(4, "tp")))


def test_the_first_middle_and_last_stage(p: Program) -> None:
    values = p.values
    ends = values.either(values.first(PP), values.last(PP))
    term = p.alt(1, ends, p.op(2, "pp"))
    assert blocks(term)
    assert not blocks(p.alt(1, ends, p.op(2, "tp")))


def test_an_opaque_fact_is_a_function_of_its_dims(p: Program) -> None:
    gate = p.atom("is_src()", Origin.OPAQUE, var=TP | PP)
    assert blocks(p.alt(1, gate, p.op(2, "tp")))
    assert not blocks(p.alt(1, gate, p.op(2, "dp")))


def test_the_whole_rank_is_evaluated(p: Program) -> None:
    values = p.values
    tp_rank = values.arithmetic("%", values.rank(), values.extent(TP))
    gate = values.compare("==", tp_rank, 0)
    assert not blocks(p.alt(1, gate, p.op(2, "dp")))
    assert blocks(p.alt(1, gate, p.op(2, "tp")))
    assert blocks(p.alt(1, values.compare("==", values.rank(), 0), p.op(2, "dp")))


def test_lists_of_ranks_are_evaluated_on_the_mesh(p: Program) -> None:
    values = p.values
    row = values.range(values.bound("i"), values.world(), values.extent(TP))
    lists = values.each("i", values.range(0, values.extent(TP)), row)
    group = Group(DP, lists=lists, name="dp")
    assert not blocks(p.alt(1, values.first(TP), p.op(2, group)))
    assert blocks(p.alt(1, values.first(DP), p.op(2, group)))


def test_new_groups_with_lists_that_differ_clash(p: Program) -> None:
    values = p.values
    term = p.op(1, "world", kind="new_group", agree=(values.ranks((values.rank(),)),))
    verdict = judged(term)
    assert verdict.run is not None and verdict.run.stuck[0].how == "clash"


def test_dense_and_expert_dims_meet_by_rank_numbers(p: Program) -> None:
    assert blocks(p.alt(1, p.values.first(TP), p.op(2, "ep")))
    assert not blocks(p.alt(1, p.values.first(PP), p.op(2, "ep")))


def test_something_unknown_is_silence(p: Program) -> None:
    term = p.alt(1, p.values.first(TP), p.op(2, "tp"), p.terms.opaque(None, p.end, at(4)))
    assert not blocks(term)


def test_two_names_of_one_communicator_match_and_two_communicators_do_not(p: Program) -> None:
    def sides(first: str, second: str) -> Node:
        one, two = Group(TP, identity=first, name="a"), Group(TP, identity=second, name="b")
        return p.alt(1, p.values.first(TP), p.op(2, one), p.op(4, two))

    assert not blocks(sides("", "nccl"))
    assert blocks(sides("gloo", "nccl"))


def test_a_constant_root_is_no_member_of_every_instance(p: Program) -> None:
    verdict = judged(p.op(1, "tp", kind="broadcast", root=p.values.lit(0)))
    assert verdict.run is not None and verdict.run.stuck[0].how == "root"
    assert not blocks(p.op(1, "world", kind="broadcast", root=p.values.lit(0)))
    assert not blocks(p.op(1, "tp", kind="broadcast", root=p.values.global_rank(Group(TP), 0)))


def test_a_send_that_nobody_receives_and_a_ring_that_all_take_part_in(p: Program) -> None:
    values = p.values
    stage, stages = values.coord(PP), values.extent(PP)
    following = values.arithmetic("%", values.arithmetic("+", stage, 1), stages)
    before = values.arithmetic("%", values.arithmetic("-", stage, 1), stages)
    pipe = Group(PP, name="pp")
    ring = p.op(1, pipe, p.op(2, pipe, kind="recv", root=values.global_rank(pipe, before)),
                kind="send", root=values.global_rank(pipe, following))  # fmt: skip
    assert not blocks(ring)
    first = p.op(2, pipe, kind="send", root=values.global_rank(pipe, 1))
    second = p.op(4, pipe, kind="recv", root=values.global_rank(pipe, 0))
    assert blocks(p.alt(1, values.first(PP), p.end, second))
    assert not blocks(p.alt(1, values.first(PP), first, p.alt(3, values.compare("==", stage, 1), second)))


def test_several_contracts_at_once_are_doubtful(p: Program) -> None:
    values = p.values
    gated = p.alt(3, values.first(TP), p.op(4, "tp"))
    one = p.alt(1, p.atom("a"), gated)
    two = p.alt(1, p.atom("a"), p.alt(2, p.atom("b"), gated))
    assert judged(one).run is not None and not judged(one).doubtful
    assert judged(two).run is not None and judged(two).doubtful
