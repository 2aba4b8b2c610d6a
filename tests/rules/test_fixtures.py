"""Every fixture finds what it says, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlint import testing

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize("case", testing.cases(FIXTURES), ids=str)
def test_fixture(case: testing.Case) -> None:
    testing.check(case)


@pytest.mark.parametrize("kind", ["bad", "good"])
@pytest.mark.parametrize("code", sorted({case.code for case in testing.cases(FIXTURES)}))
def test_every_rule_has_both_kinds(code: str, kind: str) -> None:
    assert any(case.code == code and case.good is (kind == "good") for case in testing.cases(FIXTURES)), code
