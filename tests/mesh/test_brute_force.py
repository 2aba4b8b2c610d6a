"""Random protocols: the engine agrees with a reference written in another way. The long run: tests/tools."""

from __future__ import annotations

from collections import Counter

import pytest
from compare import SHAPES, compare
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Translator, features, write

from meshlint.mesh.dims import STANDARD
from meshlint.mesh.fast import Prover
from meshlint.mesh.segment import cut
from meshlint.mesh.simulate import simulate
from meshlint.mesh.term import Site, Terms
from meshlint.place import Span


@pytest.mark.parametrize("block", range(6))
def test_the_engine_agrees_with_the_reference(block: int) -> None:
    counts: Counter[str] = Counter()
    wrong = [text for seed in range(block * 350, block * 350 + 350) for text in compare(seed, counts)]
    assert wrong == []
    assert counts["refuted"] > 50 and counts["proven"] > 150 and counts["blamed"] > 40


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, len(SHAPES) - 1))
def test_any_protocol_agrees(seed: int, shape: int) -> None:
    assert compare(seed - seed % len(SHAPES) + shape, Counter()) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_copies_and_calls_keep_what_a_protocol_does(seed: int) -> None:
    translator = Translator()
    term = translator.term(write(seed, SHAPES[seed % len(SHAPES)]))
    terms: Terms = translator.terms
    called = terms.call(term, Site(Span("a.py", 1)), terms.nil)
    assert called.shape == term.shape and terms.call(term, Site(Span("a.py", 1)), terms.nil) is called
    assert terms.then(term, terms.nil).shape == term.shape
    assert cut(terms, term, None) is term


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_what_is_proven_is_safe_on_every_mesh(seed: int) -> None:
    translator = Translator()
    term = translator.term(write(seed, SHAPES[seed % len(SHAPES)]))
    if Prover(translator.terms, STANDARD).safe(term):
        assert simulate(term, STANDARD).run is None


@pytest.mark.parametrize(
    "seed, shape",
    [
        (1002479, 9),
        (1029318, 8),
        (5018233, 3),
        (7014491, 3),
        (9083695, 10),
        (9084585, 3),
        (20000434, 12),
        (20013624, 7),
    ],
)
def test_what_disagreed_once_agrees(seed: int, shape: int) -> None:
    assert compare(seed, Counter(), SHAPES[shape]) == []


def test_the_protocols_hold_every_feature() -> None:
    found = Counter(feature for seed in range(1300) for feature in features(write(seed, SHAPES[seed % len(SHAPES)])))
    wanted = ("contract", "config", "opaque", "local", "recv", "member", "size", "first", "last", "odd")
    assert all(found[f"a test of {word}"] > 10 for word in wanted)
    assert all(found[f"rounds of {word}"] > 10 for word in ("config", "contract", "literal", "rank", "recv"))
    assert all(found[word] > 10 for word in ("a length prefix", "an issue", "a wait", "several groups"))
    assert all(found[f"an early {word}"] > 10 for word in ("return", "raise", "return in a loop", "break in a loop"))
    assert found["the group embd"] > 10
