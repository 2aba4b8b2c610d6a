"""Numbers of elements that a program computes, and when two of them surely differ."""

from __future__ import annotations

import pytest

from meshlint.mesh.gate import Expr, Origin, Values
from meshlint.protocol.sizes import size_of, told_apart

V = Values()
N, M, K = (V.atom(name, Origin.CONFIG, count=True) for name in "nmk")
FIRST = V.compare("==", V.rank(), 0)


def plus(left: Expr, right: Expr | int) -> Expr:
    return V.arithmetic("+", left, right)


def times(left: Expr, right: Expr | int) -> Expr:
    return V.arithmetic("*", left, right)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (plus(N, 1), N, (True, True)),
        (N, V.arithmetic("-", N, 2), (True, True)),
        (plus(N, M), N, (True, False)),
        (times(N, 2), N, (True, False)),
        (times(N, plus(M, 1)), times(M, N), (True, False)),
        (N, M, (False, False)),
        (times(N, M), times(N, K), (False, False)),
        (times(plus(N, 1), 2), plus(times(2, N), 2), (False, False)),
        (plus(N, M), plus(M, N), (False, False)),
        (times(N, M), N, (False, False)),
    ],
)
def test_sizes_differ_where_one_is_the_other_and_more(one: Expr, other: Expr, apart: tuple[bool, bool]) -> None:
    assert told_apart(V.choose(FIRST, one, other)) == apart
    assert told_apart(V.choose(FIRST, other, one)) == apart


def test_a_shape_is_a_product() -> None:
    assert size_of(V, [V.lit(2), V.lit(3)]) is V.lit(6)
    assert size_of(V, [V.lit(1), N]) is N
    assert size_of(V, [V.received("x"), N]) is None
    assert size_of(V, [V.lit("x")]) is None
