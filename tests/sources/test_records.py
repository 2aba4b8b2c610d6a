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
