"""A finding's own sizes on the smallest mesh: what is left over stays, and every made case is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshlint.reproduce.case import Case, Depth, Reproducer
from meshlint.reproduce.own import MOST, data_parallel, divided, short, smallest, without_groups
from meshlint.reproduce.run import Runner


@given(st.integers(1, 10**6), st.integers(1, 4096), st.integers(1, 2))
def test_the_smallest_degree_fails_and_no_smaller_one_does(number: int, degree: int, chunks: int) -> None:
    few = smallest(number, degree, chunks)
    ways = [one for one in range(2, min(degree, MOST) + 1) if degree % one == 0 and number % (one * chunks)]
    assert few == (ways[0] if ways else None)


@given(st.integers(1, 10**6), st.integers(1, 64))
def test_a_short_length_leaves_the_same_over(number: int, unit: int) -> None:
    small = short(number, unit)
    assert small % unit == number % unit
    assert small <= number


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (
            {"context_parallel_size": 16, "hierarchical_context_parallel_sizes": [2, 8]},
            "16 to 4, levels [2, 8] to [2, 2]",
        ),
        ({"context_parallel_size": 6}, "6 to 2"),
        ({"context_parallel_size": 3}, "(context_parallel_size 3)"),
    ],
)
def test_missing_groups_are_shown_on_the_smallest_mesh(sizes: dict[str, object], told: str) -> None:
    own = without_groups("one", "one")(sizes)
    assert own is not None
    assert told in own.told
    with Runner() as runner:
        assert runner.run(Reproducer("HCP001", own.cases), Depth.SIMULATE).shown


@pytest.mark.parametrize("sizes", [{}, {"a": 8}, {"a": 8, "b": 0}, {"a": 8, "b": "2"}, {"a": 8, "b": 4}])
def test_sizes_that_do_not_suffice_make_no_case(sizes: dict[str, object]) -> None:
    def make(number: int, degree: int) -> tuple[Case, ...]:
        raise AssertionError("not asked")

    assert divided("a", "b", make)(sizes) is None


def test_ranks_with_samples_of_their_own() -> None:
    sizes = {"world_size": 16, "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2}
    assert data_parallel({**sizes, "context_parallel_size": 2}) == 2
    assert data_parallel({**sizes, "context_parallel_size": 3}) is None
    assert data_parallel(sizes) is None
