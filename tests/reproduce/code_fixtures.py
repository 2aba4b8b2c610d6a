"""The findings of the bad fixtures of the code rules, judged once for all tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from meshlint.engine.options import Options
from meshlint.engine.run import check
from meshlint.finding import Finding, Report

FIXTURES = Path(__file__).parents[2] / "fixtures"
SELECT = ("COL", "GRP", "PKD001", "PKD007")
CODES = sorted(folder.name for folder in FIXTURES.iterdir() if folder.name.startswith(SELECT))


@cache
def judged() -> Report:
    """Judge the bad fixtures of all code rules."""
    bad = [str(FIXTURES / code / "bad") for code in CODES]
    return check(bad, Options(cache=False, select=SELECT, preview=True, cwd=FIXTURES))


def findings(code: str) -> list[Finding]:
    """Give the findings in the bad fixtures of a rule."""
    return [one for one in judged().findings if f"{code}/bad/" in one.span.path]
