"""A rule's page and words: the fixed headings, a source for every claim, and no advice that only wonders."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from meshlint import testing
from meshlint.rule import LaunchRule, Rule
from meshlint_rules import rules

HEADINGS = ("What it does", "Why this is bad", "Example", "Use instead", "References/versions")
CONFIG_RULES = [rule for rule in rules() if issubclass(rule, LaunchRule)]
WEAK = re.compile(r"\b(consider|maybe|perhaps|might|probably|should)\b", re.IGNORECASE)


@pytest.mark.parametrize("rule", CONFIG_RULES, ids=lambda rule: rule.code)
def test_the_page_has_its_headings(rule: type[Rule]) -> None:
    page = inspect.getdoc(rule) or ""
    assert [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")] == list(HEADINGS)


@pytest.mark.parametrize("rule", CONFIG_RULES, ids=lambda rule: rule.code)
def test_the_folder_bears_the_slug(rule: type[Rule]) -> None:
    assert Path(inspect.getfile(rule)).parent.name == rule.slug.replace("-", "_")
    assert Path(inspect.getfile(rule)).parents[1].name == rule.family().lower()


@pytest.mark.parametrize("rule", CONFIG_RULES, ids=lambda rule: rule.code)
def test_the_claims_have_sources(rule: type[Rule]) -> None:
    assert rule.references or rule.windows
    assert rule.outcomes


@pytest.mark.parametrize("rule", CONFIG_RULES, ids=lambda rule: rule.code)
def test_it_supersedes_rules_that_exist(rule: type[Rule]) -> None:
    assert set(rule.supersedes) <= {other.code for other in rules()}


def said() -> list[tuple[str, str]]:
    """Give what is said of every bad fixture of a rule about configs: the fixture, and message and fix."""
    codes = [rule.code for rule in CONFIG_RULES]
    found = []
    for case in testing.cases(Path(__file__).parents[2] / "fixtures", codes):
        if case.good or not case.path.is_file():
            continue
        for finding in testing.report_of(case).findings:
            found.append(
                (f"{case} {finding.code}", f"{finding.message} {finding.fix.description if finding.fix else ''}")
            )
    return found


def test_messages_are_sure_and_say_how_to_mend_it() -> None:
    texts = said()
    assert len(texts) > 100
    assert [(name, text) for name, text in texts if WEAK.search(text)] == []
    assert [name for name, text in texts if not text.strip().endswith(".")] == []
