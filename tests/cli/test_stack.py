"""Room for the frames of a run."""

from __future__ import annotations

import sys

import pytest

from meshlint.cli.stack import SLOTS, with_room


def depth(number: int) -> int:
    return 0 if number == 0 else 1 + depth(number - 1)


def test_what_runs_in_a_large_chunk_gives_and_raises_what_it_would() -> None:
    assert with_room(lambda: depth(500)) == 500
    with pytest.raises(KeyError, match="gone"):
        with_room(lambda: {}["gone"])


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="how frames are kept is CPython's")
def test_the_chunk_is_asked_for() -> None:
    assert with_room.__code__.co_stacksize > SLOTS
