"""Patterns of files: they match as pathspec's do, and no pattern takes for ever."""

from __future__ import annotations

import random

import pytest
from pathspec import GitIgnoreSpec

from meshlint.sources.patterns import MAX_ANY_FOLDERS, spec_of, usable


def test_patterns_with_many_stars_match_as_they_do_in_pathspec() -> None:
    source = random.Random(7)
    compared = 0
    for _ in range(1500):
        pattern = "".join(source.choice(["a", "b", "*", "*", "?", "[ab]", "/"]) for _ in range(source.randint(2, 8)))
        try:
            theirs, ours = GitIgnoreSpec.from_lines([pattern]), spec_of([pattern])
        except ValueError:
            continue
        for _ in range(20):
            file = "".join(source.choice("aabb/") for _ in range(9)).strip("/").replace("//", "/")
            if file:
                compared += 1
                assert ours.match_file(file) == theirs.match_file(file), (pattern, file)
    assert compared > 10_000


@pytest.mark.parametrize("pattern", ["a*" * 60 + "b", "**/a*/**/" + "a*" * 40 + "b", "/" + "*a" * 50 + "/b"])
def test_a_name_made_for_a_pattern_is_matched_at_once(pattern: str) -> None:
    assert not spec_of([pattern]).match_file("a" * 250)


def test_many_stars_still_match() -> None:
    assert spec_of(["a*" * 30 + "b"]).match_file("x/" + "ac" * 30 + "b")


def test_too_many_folders_of_any_depth_are_refused() -> None:
    with pytest.raises(ValueError, match=r"more than 2 times `\*\*`"):
        spec_of(["**/a/**/b/**/c" if MAX_ANY_FOLDERS == 2 else ""])


def test_what_is_no_pattern_is_left_out_and_named() -> None:
    spec, wrong = usable(["*.log", "!", "*.tmp"])
    assert wrong == ["!"]
    assert spec.match_file("a.log")
    assert spec.match_file("b.tmp")
