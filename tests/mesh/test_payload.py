"""Which keys of a batch reach each stage: shapes of a loader that broadcasts within tp on every pipeline stage."""

from __future__ import annotations

from programs import PP, TP, Program

from meshlint.mesh.dims import STANDARD
from meshlint.mesh.gate import Expr, Origin
from meshlint.mesh.group import SELF
from meshlint.mesh.payload import Payload, payload
from meshlint.mesh.term import Node

PACKED = ("cu_seqlens", "max_seqlen")


def asked(term: Node) -> Payload:
    return payload(term, STANDARD, lambda key: key.startswith(PACKED))


def send(p: Program, line: int, keys: tuple[str, ...], rest: Node | None = None) -> Node:
    term = p.end if rest is None else rest
    for key in reversed(keys):
        term = p.op(line, "tp", term, kind="broadcast", keys=(key,))
    return term


def loader(p: Program, sends: Expr, receives: Expr, stages: Expr) -> Node:
    """Tokens on every stage; packed metadata where `stages` holds, gated by a fact of each side."""
    values = p.values
    sender = send(p, 2, ("tokens",), p.alt(3, stages, p.alt(4, sends, send(p, 5, PACKED))))
    receiver = send(p, 12, ("tokens",), p.alt(13, stages, p.alt(14, receives, send(p, 15, PACKED))))
    return p.alt(1, values.first(TP), sender, receiver)


def test_one_contract_for_both_sides_and_every_stage_is_right() -> None:
    p = Program()
    answer = asked(loader(p, p.atom("key in batch"), p.atom("args.sft"), p.values.lit(True)))
    assert answer == Payload(True)


def test_a_missing_branch_leaves_stages_without_metadata() -> None:
    p = Program()
    answer = asked(loader(p, p.atom("key in batch"), p.atom("args.sft"), p.values.first(PP)))
    assert answer.refuted is None
    assert [(item.key, item.present, item.absent, item.stages) for item in answer.missing] == [
        ("cu_seqlens", (0,), (1, 2), 3),
        ("max_seqlen", (0,), (1, 2), 3),
    ]
    assert answer.missing[0].op.site.span.line in (5, 15)


def test_stages_that_do_not_attend_need_no_metadata() -> None:
    p = Program()
    term = loader(p, p.atom("key in batch"), p.atom("args.sft"), p.values.first(PP))
    assert payload(term, STANDARD, lambda key: key in PACKED, lambda stage, stages: stage == 0) == Payload(True)


def test_receivers_that_differ_under_some_config() -> None:
    p = Program()
    hybrid = p.atom("args.hybrid", Origin.CONFIG)
    answer = asked(loader(p, p.values.lit(True), p.values.negate(hybrid), p.values.lit(True)))
    assert answer.refuted is not None
    assert answer.stages == (0, 1, 2)
    assert answer.keys == ("cu_seqlens",)


def test_two_contracts_of_two_stages_may_be_one() -> None:
    p = Program()
    values = p.values
    early = p.alt(2, p.atom("key in batch"), send(p, 3, ("cu_seqlens",)))
    late = p.alt(5, p.atom("args.sft"), send(p, 6, ("cu_seqlens",)))
    assert asked(p.alt(1, values.first(PP), early, late)) == Payload(True)


def test_an_early_return_of_nothing_on_middle_stages() -> None:
    p = Program()
    ends = p.values.either(p.values.first(PP), p.values.last(PP))
    hands_on = p.op(4, SELF, kind="deliver", keys=("cu_seqlens_q",))
    answer = asked(p.alt(1, p.values.negate(ends), p.end, hands_on, leaves="return", end=2))
    [missing] = answer.missing
    assert (missing.present, missing.absent) == ((0, 2), (1,))


def test_other_keys_may_differ_between_stages() -> None:
    p = Program()
    term = p.alt(1, p.values.first(PP), send(p, 2, ("tokens", "cu_seqlens")), send(p, 4, ("labels", "cu_seqlens")))
    assert asked(term) == Payload(True)
