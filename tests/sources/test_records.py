"""Records behave as the standard dataclasses that they stand for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshlint.records import dataclass as record


@record(frozen=True, slots=True)
class Mine:
    """Of meshlint's own."""

    a: int
    b: str = ""
    c: tuple[int, ...] = dataclasses.field(default=(), compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The standard one."""

    a: int
    b: str = ""
    c: tuple[int, ...] = dataclasses.field(default=(), compare=False)


values = st.tuples(st.integers(0, 2), st.sampled_from(["", "x"]), st.sampled_from([(), (1,)]))


@given(values, values)
def test_equality_and_hash_are_those_of_the_standard_dataclass(left: Any, right: Any) -> None:
    assert (Mine(*left) == Mine(*right)) is (Theirs(*left) == Theirs(*right))
    assert hash(Mine(*left)) == hash(Theirs(*left))
    assert Mine(*left) != Theirs(*left)
    assert repr(Mine(*left)) == repr(Theirs(*left)).replace("Theirs", "Mine")


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_is_equal(again: Callable[[Any], Any]) -> None:
    record = Mine(1, "x", (2,))
    assert again(record) == record
    assert again(record).c == (2,)
    assert dataclasses.replace(record, b="y") == Mine(1, "y")
    assert not hasattr(record, "__dict__")


@record(slots=True)
class Changing:
    """One that changes has no hash."""

    a: int


@record(slots=True, eq=False)
class Itself:
    """One that is equal to itself alone."""

    a: int


@record(frozen=True)
class Nothing:
    """One without fields."""


def test_what_a_record_is_told_of_comparing_holds() -> None:
    assert Changing(1) == Changing(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Changing(1))
    assert Itself(1) != Itself(1)
    assert len({Itself(1), Itself(1)}) == 2
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(())


@record(frozen=True, slots=True)
class Own:
    """One with a comparison of its own."""

    a: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and other.a.lower() == self.a.lower()

    def __hash__(self) -> int:
        return hash(self.a.lower())


def test_methods_of_a_class_stay_its_own() -> None:
    assert Own("A") == Own("a")
    assert {Own("A"), Own("a")} == {Own("a")}


@record(slots=True)
class Filled:
    """One with fields of every kind."""

    a: int
    b: list[int] = dataclasses.field(default_factory=list)
    c: int = dataclasses.field(init=False)
    d: dict[str, int] = dataclasses.field(default_factory=dict, init=False)
    e: str = dataclasses.field(default="e", init=False)

    def __post_init__(self) -> None:
        self.c = self.a + len(self.b)


@record(slots=True)
class Inheriting(Filled):
    """One that adds a field."""

    f: int = 6


def test_a_record_is_made_as_the_standard_dataclass_is() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        Filled()  # type: ignore[call-arg]
    one, other = Filled(1), Inheriting(1, [2], f=7)
    assert (one.a, one.b, one.c, one.d, one.e) == (1, [], 1, {}, "e")
    assert one.b is not Filled(1).b
    assert (other.a, other.b, other.c, other.f, Inheriting(1).f) == (1, [2], 2, 7, 6)
    with pytest.raises(TypeError, match="unexpected keyword argument 'd'"):
        Filled(1, d={})  # type: ignore[call-arg]
