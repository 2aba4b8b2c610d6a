"""What docs/evidence records is what the reproducers run now, and every page of a rule shows a measured failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_cases import FOUND

from meshlint.reproduce.case import Case, Depth
from meshlint_rules import rules

DOCS = Path(__file__).parents[2] / "docs"
FILES = sorted((DOCS / "evidence").glob("*.json"))
KEYS = {"meshlint", "code", "slug", "depth", "shown", "why", "hardware", "versions", "cases"}
CASE_KEYS = {"name", "says", "ranks", "runs", "shown", "tolerance", "arms"}
ARM_KEYS = {"name", "expected", "outcome", "shown", "why", "seconds", "waits", "errors", "values"}
SLUGS = {rule.code: rule.slug for rule in rules()}


def now(code: str, depth: Depth, recorded: dict[str, Any]) -> list[Case]:
    """Give the cases of today that a recorded one can be: by name, depth and whose code runs."""
    named = [case for case in FOUND[code].cases if case.name == recorded["name"] and depth in case.depths]
    return [case for case in named if (case.runs or "the arm's own calls") == recorded["runs"]]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_verdict_is_one_of_a_case_that_is_still_run(file: Path) -> None:
    verdict = json.loads(file.read_text("utf-8"))
    assert verdict.keys() == KEYS
    code, depth = verdict["code"], Depth(verdict["depth"])
    assert file.name.startswith(f"{code}-{depth.value}")
    assert (verdict["slug"], verdict["shown"]) == (SLUGS[code], True)
    for recorded in verdict["cases"]:
        assert recorded.keys() == CASE_KEYS
        cases = now(code, depth, recorded)
        assert cases, f"{recorded['name']} is no case any more, or runs something else"
        case = cases[0]
        assert (recorded["ranks"], recorded["tolerance"]) == (case.world, case.tolerance)
        assert [(arm["name"], arm["expected"]) for arm in recorded["arms"]] == [
            (name, arm.at(depth).value) for name, arm in case.arms
        ]
        assert all(arm.keys() == ARM_KEYS and arm["shown"] and arm["outcome"] for arm in recorded["arms"])


def test_every_case_without_a_gpu_has_a_verdict() -> None:
    told = {(v["code"], v["depth"], case["name"]) for v in map(_read, FILES) for case in v["cases"]}
    wanted = {
        (code, depth.value, case.name)
        for code, made in FOUND.items()
        for case in made.cases
        for depth in (Depth.SIMULATE, Depth.CPU)
        if depth in case.depths
    }
    assert sorted(wanted - told) == []


@pytest.mark.parametrize("code", sorted(SLUGS))
def test_every_page_shows_a_measured_failure_or_says_why_not(code: str) -> None:
    _, head, measured = (DOCS / "rules" / f"{code}.md").read_text("utf-8").partition("\n## Measured\n")
    assert head
    shown = [line for line in measured.split("\n") if line.startswith("- ") and "**" in line]
    assert bool(shown) is (code in FOUND)
    assert shown or "Nothing" in measured


def _read(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return read
