"""Which gate is blamed, under which code, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest
from programs import CP, DP, GROUPS, PP, TP, Program, at

from meshlint.mesh.blame import Fault, Judge
from meshlint.mesh.classify import code_of, row, size_guards, stands_inside
from meshlint.mesh.dims import STANDARD
from meshlint.mesh.draw import WIDTH, draw, traces
from meshlint.mesh.gate import Origin
from meshlint.mesh.group import Group
from meshlint.mesh.pairing import pairing
from meshlint.mesh.term import Node, Site
from meshlint.place import Span


@pytest.fixture
def p() -> Program:
    return Program()


def faults(p: Program, term: Node) -> tuple[Fault, ...]:
    return Judge(p.terms, STANDARD).faults(term)


def only(p: Program, term: Node) -> Fault:
    [fault] = faults(p, term)
    return fault


def code(p: Program, fault: Fault, **packed: bool) -> str:
    return code_of(row(p.terms, STANDARD, fault), **packed)


def line(fault: Fault) -> int:
    assert fault.node is not None
    return fault.node.gate.site.span.line


def test_the_innermost_gate_that_mends_it_is_blamed(p: Program) -> None:
    term = p.alt(1, p.values.first(PP), p.alt(2, p.values.first(TP), p.op(3, "tp"), end=3), end=3)
    fault = only(p, term)
    assert line(fault) == 2
    assert code(p, fault) == "COL001"
    assert fault.grade == "mesh" and not fault.weak


def test_an_early_exit_is_its_own_code(p: Program) -> None:
    skips = p.values.negate(p.values.first(TP))
    fault = only(p, p.alt(1, skips, p.end, p.op(5, "world"), leaves="return", end=2))
    assert (line(fault), code(p, fault)) == (1, "COL002")


def test_an_early_exit_around_its_own_event_is_a_gated_collective(p: Program) -> None:
    fault = only(p, p.alt(1, p.values.first(TP), p.op(2, "tp"), p.end, leaves="return", end=3))
    assert code(p, fault) == "COL001"


def test_sides_that_both_call_are_mismatched(p: Program) -> None:
    fault = only(p, p.alt(1, p.values.first(TP), p.op(2, "tp"), p.op(4, "tp", kind="broadcast"), end=4))
    assert code(p, fault) == "COL003"
    assert fault.stuck.how == "clash"


def test_the_other_rows_of_the_table(p: Program) -> None:
    values = p.values
    first = values.first(TP)
    loop = p.loop(1, values.arithmetic("+", values.coord(TP), 1), p.op(2, "tp"))
    assert code(p, only(p, loop)) == "COL004"
    raises = p.alt(1, first, p.terms.exit(at(2)), p.op(3, "tp"), leaves="raise", end=2)
    assert code(p, only(p, raises)) == "COL005"
    data = p.alt(1, p.atom("x is None", Origin.LOCAL), p.op(2, "tp"), end=2)
    assert code(p, only(p, data)) == "COL006"
    composite = p.alt(1, first, p.op(2, "tp", flags=("composite",)), end=2)
    assert code(p, only(p, composite)) == "COL007"
    groups = p.alt(1, first, p.op(2, "world", kind="new_group"), end=2)
    assert code(p, only(p, groups)) == "GRP001"
    packed = p.alt(1, first, p.op(2, "tp", keys=("cu_seqlens",)), end=2)
    assert code(p, only(p, packed), packed=True) == "PKD007"


def test_a_guard_of_another_group_is_its_own_code(p: Program) -> None:
    ends = p.values.either(p.values.first(PP), p.values.last(PP))
    embedding = Group(PP, members=ends, name="embd")
    fault = only(p, p.alt(1, p.values.member(embedding), p.op(2, "pp"), end=2))
    assert code(p, fault) == "GRP004"
    term = p.alt(1, p.values.compare(">", p.values.extent(TP), 1), p.op(2, "dp"), end=2)
    assert faults(p, term) == ()
    [guard] = size_guards(p.terms, term, STANDARD)
    assert guard.op.site.span.line == 2
    own = p.alt(1, p.values.compare(">", p.values.extent(DP), 1), p.op(2, "dp"), end=2)
    assert size_guards(p.terms, own, STANDARD) == ()


def test_a_constant_root_outside_of_some_instance(p: Program) -> None:
    fault = only(p, p.op(2, "tp", kind="broadcast", root=p.values.lit(0)))
    assert (fault.node, fault.stuck.how, code(p, fault)) == (None, "root", "GRP002")
    own = p.op(2, "tp", kind="broadcast", root=p.values.global_rank(GROUPS["tp"], 0))
    assert faults(p, own) == ()


def test_a_gate_that_is_balanced_further_down_is_silent(p: Program) -> None:
    first = p.values.first(TP)
    second = p.alt(5, first, p.op(6, "tp", kind="barrier"))
    term = p.alt(1, p.values.negate(first), p.op(2, "tp", p.op(3, "dp", second), kind="barrier"), p.op(3, "dp", second))
    assert faults(p, term) == ()


def test_two_faults_in_a_row_are_both_found(p: Program) -> None:
    second = p.alt(10, p.values.first(DP), p.op(11, "dp"), end=11)
    term = p.alt(1, p.values.first(TP), p.op(2, "tp", second), second, end=2)
    assert [line(fault) for fault in faults(p, term)] == [1, 10]


def test_many_uniform_gates_do_not_hide_a_fault(p: Program) -> None:
    term = p.alt(100, p.values.first(TP), p.op(101, "tp"), end=101)
    for number in range(40):
        term = p.alt(number + 1, p.atom(f"c{number}", Origin.CONFIG), p.op(number + 200, "dp", term), term)
    assert [line(fault) for fault in faults(p, term)] == [100]


def test_a_fault_inside_a_uniform_loop(p: Program) -> None:
    steps = p.atom("steps", Origin.CONFIG, count=True)
    fault = only(p, p.loop(1, steps, p.alt(2, p.values.first(TP), p.op(3, "tp"), end=3)))
    assert line(fault) == 2


def test_opposite_async_orders_are_a_grade_of_their_own(p: Program) -> None:
    def side(start: int, first: str, second: str) -> Node:
        waits = p.terms.wait("a", p.terms.wait("b", p.end, at(start + 3)), at(start + 2))
        return p.op(start, first, p.op(start + 1, second, waits, handle="b"), handle="a")

    values = p.values
    odd = values.arithmetic("%", values.arithmetic("+", values.coord(TP), values.coord(DP)), 2)
    term = p.alt(1, values.compare("==", odd, 0), side(2, "tp", "dp"), side(10, "dp", "tp"))
    assert only(p, term).grade == "async"


def test_a_dense_gate_on_an_expert_group_is_weak(p: Program) -> None:
    assert only(p, p.alt(1, p.values.first(TP), p.op(2, "ep"), end=2)).weak
    assert only(p, p.alt(1, p.values.first(TP, weak=True), p.op(2, "tp"), end=2)).weak


def test_size_facts_of_the_path_hold(p: Program) -> None:
    alone = p.values.compare("==", p.values.extent(TP), 1)
    gated = p.alt(5, p.values.first(TP), p.op(6, "tp"), end=6)
    term = p.alt(1, alone, p.end, gated, leaves="return", end=2)
    assert only(p, term).run.mesh.extent(TP) == 2
    dead = p.alt(1, p.values.negate(alone), p.end, gated, leaves="return", end=2)
    assert faults(p, dead) == ()


def outcome(p: Program, term: Node, after: Node | None = None) -> Any:
    fault = only(p, term)
    return [(item.outcome, item.op and item.op.site.span.line, item.sure) for item in pairing(p.terms, fault, after)]


def test_what_the_others_do_instead(p: Program) -> None:
    first = p.values.first(TP)

    def gated(rest: Node | None = None, **facts: Any) -> Node:
        return p.alt(1, first, p.op(2, "tp", rest, **facts), rest, end=2)

    assert outcome(p, gated()) == [("waits", None, True)]
    assert outcome(p, gated(p.op(9, "dp"))) == [("waits", None, True)]
    assert outcome(p, gated(), p.op(20, "tp")) == [("pairs", 20, False)]
    sized = p.op(20, "tp", signature=("float32", "8"))
    assert outcome(p, gated(signature=("float32", "8")), sized) == [("pairs", 20, True)]
    assert outcome(p, gated(signature=("float32", "4")), sized) == [("clashes", 20, True)]
    assert outcome(p, gated(), p.op(20, "tp", kind="all_gather")) == [("hangs", 20, True)]
    assert outcome(p, gated(kind="broadcast_object_list"), p.op(20, "tp", kind="broadcast")) == [("pairs", 20, False)]


def test_once_more_round_the_enclosing_loop(p: Program) -> None:
    steps = p.atom("steps", Origin.CONFIG, count=True)
    body = p.op(2, "tp", p.alt(3, p.values.first(TP), p.op(4, "dp", p.op(5, "tp")), p.op(7, "dp"), end=7))
    fault = only(p, p.loop(1, steps, body))
    [instead] = pairing(p.terms, fault)
    assert instead.outcome == "pairs" and instead.op is not None and instead.op.site.span.line == 2


def test_an_event_at_any_call_depth_stands_inside_its_gate(p: Program) -> None:
    callee = p.op(200, "dp-cp")
    call = Site(Span("train.py", 2), "track")
    term = p.alt(1, p.values.first(CP), p.terms.call(callee, call, p.end), end=2)
    fault = only(p, term)
    assert fault.node is not None
    assert stands_inside(fault.node.gate, fault.stuck.arrived[0][1].site)
    assert code(p, fault) == "COL001"


def source_gate(p: Program) -> Node:
    values = p.values
    gate = values.both(values.first(TP), values.first(CP), values.last(PP))
    callee = p.terms.call(p.op(400, "dp-cp"), Site(Span("moe.py", 300), "track_mtp_metrics"), p.end)
    call = Site(Span("train.py", 973), "get_megatron_mtp_loss")
    return p.alt(970, gate, p.terms.call(callee, call, p.end), end=974)


def test_the_drawing_of_a_source_gate(p: Program) -> None:
    fault = only(p, source_gate(p))
    drawn = draw(fault, pairing(p.terms, fault))
    assert drawn.splitlines() == [
        "all_reduce on dp-cp, line 973 (line 400), via get_megatron_mtp_loss > track_mtp_metrics",
        "  tp0 cp0 pp0  goes on    tp0 cp1 pp0  goes on",
        "  tp1 cp0 pp0  goes on    tp1 cp1 pp0  goes on",
        "  tp0 cp0 pp1  enters     tp0 cp1 pp1  goes on, never calls dp-cp again",
        "  tp1 cp0 pp1  goes on    tp1 cp1 pp1  goes on",
        "tp0 cp0 pp1 waits for ever for tp0 cp1 pp1",
    ]


def test_the_drawing_says_what_the_others_pair_with(p: Program) -> None:
    fault = only(p, p.alt(2, p.values.first(TP), p.op(3, "tp", signature=("float32", "4")), end=3))
    known = pairing(p.terms, fault, p.op(40, "tp", signature=("float32", "4")))
    assert draw(fault, known).splitlines()[1:] == [
        "  tp0  enters",
        "  tp1  goes on to line 40 (all_reduce)",
        "tp0 pairs silently with tp1 in all_reduce, line 40",
        "then tp0 is left waiting in all_reduce, line 40",
    ]
    unknown = pairing(p.terms, fault, p.op(40, "tp"))
    assert draw(fault, unknown).splitlines()[-2] == "tp0 can pair silently with tp1 in all_reduce, line 40"


def test_nobody_is_left_over_where_both_sides_call_as_often(p: Program) -> None:
    first = p.values.first(TP)
    sides = p.op(3, "tp", kind="broadcast"), p.op(5, "dp", p.op(6, "tp", kind="broadcast"))
    fault = only(p, p.alt(1, first, sides[0], p.op(4, "tp", sides[1]), end=7))
    assert [(item.outcome, item.left) for item in pairing(p.terms, fault)] == [("hangs", None)]


def test_in_a_loop_the_next_round_goes_on_with_the_rest(p: Program) -> None:
    steps = p.atom("steps", Origin.CONFIG, count=True)
    body = p.op(2, "tp", p.alt(3, p.values.first(TP), p.op(4, "tp"), end=4))
    fault = only(p, p.loop(1, steps, body))
    [instead] = pairing(p.terms, fault)
    assert (instead.outcome, instead.again, instead.left) == ("pairs", True, None)
    assert "line 2 of the next round" in draw(fault, (instead,))


def test_a_call_is_told_with_what_it_is_given_where_others_give_something_else(p: Program) -> None:
    values = p.values
    own = p.op(2, "tp", root=values.rank(), kind="broadcast")
    fault = only(p, own)
    assert "calls broadcast from rank 1, line 2" in draw(fault, pairing(p.terms, fault))


def test_both_traces_side_by_side(p: Program) -> None:
    term = p.op(1, "tp", p.alt(2, p.values.first(TP), p.op(3, "tp", kind="broadcast"), end=3))
    written = traces(only(p, p.alt(0, p.values.first(TP), p.op(0, "tp", term), p.op(0, "tp", term))))
    assert [cell.strip() for cell in written.splitlines()[-1].split("|")] == [
        "line 3: broadcast on tp, waits",
        "goes on",
    ]
    assert max(len(text) for text in written.splitlines()) <= WIDTH


def test_drawings_never_grow_too_wide(p: Program) -> None:
    name = "a_very_long_name_of_a_function_that_calls_another_" * 3
    call = Site(Span("train.py", 3), name)
    term = p.alt(1, p.values.compare("==", p.values.rank(), 0), p.terms.call(p.op(9, "world"), call, p.end))
    fault = only(p, term)
    text = draw(fault, pairing(p.terms, fault)) + "\n" + traces(fault)
    assert max(len(written) for written in text.splitlines()) <= WIDTH


def test_a_counterpart_under_the_same_uniform_gate_balances(p: Program) -> None:
    first, asked = p.values.first(TP), p.atom("args.x", Origin.CONFIG)
    second = p.alt(8, asked, p.alt(9, first, p.op(10, "tp", kind="barrier")))
    before = p.op(6, "dp", second)
    barrier = p.op(3, "tp", before, kind="barrier")
    assert faults(p, p.alt(1, asked, p.alt(2, p.values.negate(first), barrier, before), before)) == ()
    lonely = p.alt(1, p.atom("args.y", Origin.CONFIG), p.alt(2, p.values.negate(first), barrier, before), before)
    assert len(faults(p, lonely)) == 2


def test_a_long_rest_after_an_early_exit_is_judged_by_its_first_event(p: Program) -> None:
    rest = p.op(700, "tp")
    for number in range(60, 0, -1):
        rest = p.alt(
            number * 10, p.atom(f"c{number}"), p.op(number * 10 + 1, "tp", rest), p.op(number * 10 + 2, "dp", rest)
        )
    judge = Judge(p.terms, STANDARD)
    [fault] = judge.faults(p.alt(1, p.values.first(TP), p.end, rest, leaves="return", end=2))
    assert judge.unjudged == 0
    assert (line(fault), code(p, fault)) == (1, "COL002")


def test_deep_nesting_is_bounded(p: Program) -> None:
    term = p.end
    for number in range(90, 0, -1):
        term = p.loop(
            number,
            p.atom(f"n{number}", Origin.CONFIG, count=True),
            p.alt(number, p.values.first(TP), p.op(number, "tp", term)),
        )
    assert [line(fault) for fault in faults(p, term)] == [1]


def test_a_part_that_the_whole_function_explains_is_silent(p: Program) -> None:
    values = p.values
    never = values.both(values.first(TP), values.last(TP), values.compare(">", values.extent(TP), 1))
    inner = p.alt(2, p.atom("args.x", Origin.CONFIG), p.alt(3, values.first(DP), p.op(4, "dp"), end=4))
    assert faults(p, p.alt(1, values.negate(never), p.terms.exit(at(1)), inner, leaves="raise", end=1)) == ()
    assert len(faults(p, inner)) == 1
