from __future__ import annotations

from meshlint.mesh.dims import STANDARD
from meshlint.mesh.gate import Origin, Values
from meshlint.mesh.group import WORLD, Group
from meshlint.mesh.term import Alt, Gate, Loop, Nil, Node, Op, Site, Terms, count
from meshlint.place import Span

TP = STANDARD.mask("tp")
DP = STANDARD.mask("dp")
TP_GROUP = Group(TP, name="tp")
DP_GROUP = Group(DP, name="dp")


def at(line: int) -> Site:
    return Site(Span("a.py", line))


def reduce(terms: Terms, line: int, rest: Node, group: Group = DP_GROUP) -> Node:
    return terms.op("all_reduce", group, rest, at(line))


def test_equal_sides_of_a_branch_join() -> None:
    terms = Terms()
    gate = terms.values.first(TP)
    term = terms.alt(gate, reduce(terms, 2, terms.nil), reduce(terms, 4, terms.nil), Gate(at(1)))
    assert isinstance(term, Op)
    assert term.site == at(2)


def test_equal_first_events_are_lifted_and_the_rest_stays_gated() -> None:
    terms = Terms()
    gate = terms.values.first(TP)
    then = reduce(terms, 2, terms.op("barrier", WORLD, terms.nil, at(3)))
    term = terms.alt(gate, then, reduce(terms, 5, terms.nil), Gate(at(1)))
    assert isinstance(term, Op) and isinstance(term.rest, Alt)
    assert isinstance(term.rest.otherwise, Nil)


def test_lifting_a_broadcast_joins_the_values_of_both_sides() -> None:
    terms = Terms()
    values = terms.values
    gate, count_ = values.first(TP), values.atom("len(x)", Origin.LOCAL, count=True)
    sender = terms.op("broadcast", DP_GROUP, terms.nil, at(2), root=values.lit(0), value=count_, into=("a",))
    receiver = terms.op("broadcast", DP_GROUP, terms.nil, at(4), root=values.lit(0), value=values.lit(0), into=("b",))
    term = terms.alt(gate, sender, receiver, Gate(at(1)))
    assert isinstance(term, Op)
    assert term.into == ("a", "b")
    assert term.value is values.choose(gate, count_, 0)


def test_a_negated_condition_is_the_same_branch() -> None:
    terms = Terms()
    gate = terms.values.first(TP)
    one = terms.alt(gate, reduce(terms, 2, terms.nil), terms.nil, Gate(at(1)))
    two = terms.alt(terms.values.negate(gate), terms.nil, reduce(terms, 9, terms.nil), Gate(at(7)))
    assert one.shape == two.shape
    assert one.id != two.id


def test_a_loop_without_events_vanishes() -> None:
    terms = Terms()
    trip = terms.values.atom("n", Origin.CONFIG, count=True)
    rest = reduce(terms, 3, terms.nil)
    assert terms.loop(trip, terms.nil, rest, Gate(at(1), form="loop")) is rest


def test_a_call_puts_the_rest_after_every_normal_end_and_remembers_the_call() -> None:
    terms = Terms()
    gate = terms.values.first(TP)
    callee = terms.alt(gate, reduce(terms, 20, terms.nil, TP_GROUP), terms.nil, Gate(at(19)))
    term = terms.call(callee, Site(Span("b.py", 7), "f"), reduce(terms, 8, terms.nil))
    assert isinstance(term, Alt) and isinstance(term.then, Op) and isinstance(term.then.rest, Op)
    assert [frame.span.line for frame in term.then.site.frames()] == [7, 20]
    assert term.then.rest.site == at(8)
    assert term.otherwise is term.then.rest


def test_a_return_in_a_loop_of_a_callee_goes_on_after_the_call() -> None:
    terms = Terms()
    trip = terms.values.atom("n", Origin.CONFIG, count=True)
    gate = terms.values.atom("c", Origin.CONFIG)
    body = terms.alt(gate, terms.leave, reduce(terms, 3, terms.nil), Gate(at(2)))
    callee = terms.loop(trip, body, terms.nil, Gate(at(1), form="loop"))
    after = reduce(terms, 9, terms.nil)
    term = terms.call(callee, at(8), after)
    assert isinstance(term, Loop)
    assert term.after_return is after and term.rest is after


def test_long_terms_are_copied_without_recursion() -> None:
    terms = Terms()
    term = terms.nil
    for line in range(20000, 0, -1):
        term = reduce(terms, line, term)
    again = terms.call(term, Site(Span("b.py", 1)), terms.nil)
    assert again.shape == term.shape
    assert count(again) == 20001


def test_tests_fold_and_opposites_are_one_atom() -> None:
    values = Values()
    tp = values.coord(TP)
    assert values.compare("!=", tp, 0) is values.negate(values.first(TP))
    assert values.compare("==", 0, tp) is values.first(TP)
    assert values.both(True, values.first(TP)) is values.first(TP)
    assert values.compare(">", tp, 0) is values.negate(values.compare("<=", tp, 0))
    assert values.first(TP).var == TP
