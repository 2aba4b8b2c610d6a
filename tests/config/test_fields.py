"""The canonical fields, and what each kind of them reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshlint.config.fields import FIELDS
from meshlint.config.parse import MAX_PATTERN, as_data, as_frequency, as_name, as_names, as_window
from meshlint.config.registry import FRAMEWORKS, framework
from meshlint.config.value import Data


@pytest.mark.parametrize("name", FIELDS)
def test_null_stays_null(name: str) -> None:
    assert FIELDS[name].parse(None) is None
    assert FIELDS[name].parse("null") is None


PARSERS = sorted({field.parse for field in FIELDS.values()}, key=lambda parse: parse.__name__)
ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.tuples(st.text(), st.integers())
)


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: str(parse.__name__))
@given(data=ANYTHING)
def test_parsing_refuses_or_settles(parse: Callable[[Data], Data], data: Data) -> None:
    try:
        first = parse(data)
    except ValueError:
        return
    if first == first:  # not a NaN
        assert parse(first) == first


def test_every_field_is_spelt_somewhere() -> None:
    spelt = {s.field for name in FRAMEWORKS for s in framework(name.replace("_", "-")).spellings}
    derived = {field for name in FRAMEWORKS for field in framework(name.replace("_", "-")).derive}
    assert set(FIELDS) - spelt - derived == {"attention_bias", "gpu"}  # the GPU is what a person names


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("128,0", (128, 0)),
        ("(128, 0)", (128, 0)),
        ((-1, 0), (-1, 0)),
        ("[127,0]", (127, 0)),
    ],
)
def test_window(written: object, meant: object) -> None:
    assert as_window(written) == meant


def test_a_window_has_two_ends() -> None:
    with pytest.raises(ValueError, match="window of two"):
        as_window("128")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("4", 4),
        (2, 2),
        ("[1,1,0]", (1, 1, 0)),
        ("([0]*3+[1]*2)", (0, 0, 0, 1, 1)),
        ("'([0]+[1]*1)*2'", (0, 1, 0, 1)),
        ("2*[1]", (1, 1)),
        ((0, 1), (0, 1)),
    ],
)
def test_layer_pattern(written: object, meant: object) -> None:
    assert as_frequency(written) == meant


@pytest.mark.parametrize(
    "hostile",
    [
        "[1]*10**9",
        f"[1]*{MAX_PATTERN + 1}",
        "[1]*4096*4096",
        "__import__('os').system('x')[0]",
        "[" * 1000,
        "[1]" + "+[1]" * 5000,
        "[x for x in range(3)]",
    ],
)
def test_a_pattern_is_never_evaluated(hostile: str) -> None:
    with pytest.raises(ValueError, match="not a list of 0 and 1"):
        as_frequency(hostile)


def test_words() -> None:
    assert as_name("AttnBackend.Flash") == "flash"
    assert as_names("[mlp, moe_act]") == ("mlp", "moe_act")
    assert as_data("Et|tL") == "Et|tL"
