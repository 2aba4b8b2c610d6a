"""Safe fixes: each takes its finding away and brings no other, and nothing else in the file changes."""

from __future__ import annotations

import inspect
import shutil
from collections import Counter
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint import testing
from meshlint.engine import ruleset
from meshlint.finding import Finding

pytest.importorskip("libcst", reason="the extra `fix` is not installed")

FIXTURES = Path(__file__).parents[2] / "fixtures"
SAFE = {
    "CFG001": 8,
    "CTX002": 12,
    "FRW004": 18,
    "HCP001": 8,
    "HCP003": 2,
    "HCP004": 4,
    "OVL001": 1,
    "PAR012": 2,
    "PKD005": 5,
    "PKD006": 4,
}
"""The rules that have safe fixes, and how many of their bad fixtures show one."""


def copied(case: testing.Case, root: Path) -> Path:
    if case.path.is_dir():
        shutil.copytree(case.path, root)
    else:
        root.mkdir()
        shutil.copy2(case.path, root / case.path.name)
    return root.resolve()


def kinds(findings: tuple[Finding, ...]) -> Counter[tuple[str, str]]:
    return Counter((f.code, f.span.path) for f in findings)


def test_other_rules_call_no_fix_safe() -> None:
    having = {rule.code for rule in ruleset.load() if "safe=" in inspect.getsource(inspect.getmodule(rule) or rule)}
    assert having == set(SAFE)


@pytest.mark.parametrize("code", sorted(SAFE))
def test_every_safe_fix_mends_and_no_more(code: str, tmp_path: Path, meshlint: CommandLine) -> None:
    mended = 0
    for number, case in enumerate(case for case in testing.cases(FIXTURES, [code]) if not case.good):
        root = copied(case, tmp_path / str(number))
        words = testing.options(root)
        before = testing.report(root, words).findings
        safe = tuple(f for f in before if f.fix is not None and f.fix.safe)
        old = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        run = meshlint("check", root, *words, "--fix", "--no-cache", "--format", "json")
        after = testing.report(root, words).findings
        assert kinds(after) == kinds(before) - kinds(safe), case
        assert "not fixed" not in run.err, case
        for path, text in old.items():
            assert only_edited(text, path.read_bytes(), safe, path.relative_to(root).as_posix()), (case, path)
        mended += any(f.code == code for f in safe)
    assert mended == SAFE[code]


def only_edited(before: bytes, after: bytes, safe: tuple[Finding, ...], path: str) -> bool:
    """Say whether the rows that no edit touches are the same bytes, in the same order."""
    edits = [e for f in safe if f.fix is not None for e in f.fix.edits if e.span.path == path]
    touched = {line for e in edits for line in range(e.span.line, e.span.end_line + (e.span.end_column > 1))}
    kept = [row for number, row in enumerate(before.split(b"\n"), 1) if number not in touched]
    rows = iter(after.split(b"\n"))
    return (before == after) is not bool(edits) and all(any(row == other for other in rows) for row in kept)
