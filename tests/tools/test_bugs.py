"""The runner over real bugs, on a repository of two commits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import corpus

GATED = """
import torch.distributed as dist

from pkg.near import total


def report(x):
    if dist.get_rank() == 0:
        print(total(x))
"""
NEAR = """
import torch.distributed as dist


def total(x):
    dist.all_reduce(x)
    return x
"""
MENDED = GATED.replace("    if dist", "    found = total(x)\n    if dist").replace("print(total(x))", "print(found)")


def commit(git: Path, text: str) -> str:
    (git / "pkg").mkdir(exist_ok=True)
    (git / "pkg" / "__init__.py").write_text("")
    (git / "pkg" / "near.py").write_text(NEAR)
    (git / "pkg" / "work.py").write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["add", "."], [*who, "commit", "-q", "-m", "step"]):
        subprocess.run(["git", "-C", str(git), *words], check=True)
    return subprocess.run(
        ["git", "-C", str(git), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def bugs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git = tmp_path / "own+one" / "repo"
    git.mkdir(parents=True)
    subprocess.run(["git", "-C", str(git), "init", "-q"], check=True)
    entry = {"repo": "own/one", "kind": "K1", "decidable_class": "yes", "files": ["pkg/near.py"], "function": "report"}
    revisions = {"parent_commit": commit(git, GATED), "fix_commit": commit(git, MENDED)}
    (tmp_path / "bugs.jsonl").write_text(json.dumps({**entry, **revisions}) + "\n")
    monkeypatch.setenv("MESHLINT_MIRRORS", str(tmp_path))
    return tmp_path / "bugs.jsonl"


def test_a_bug_is_found_at_the_parent_and_gone_at_the_fix(bugs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(bugs)]
    corpus.main(words)
    corpus.main([*words, "--held-out"])
    told = capsys.readouterr().out
    assert "+ COL001 error pkg/work.py:9:15 report" in told
    assert "K1 yes: 1 of 1" in told
    assert told.count("found K1 yes") == 1


def test_without_mirrors_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("MESHLINT_MIRRORS", raising=False)
    assert corpus.main(["bugs.jsonl"]) == 0
    assert "skipped" in capsys.readouterr().out


LISTED = [json.loads(line) for line in Path(__file__).with_name("bugs.jsonl").read_text().splitlines()]
"""Bugs of twenty training libraries that the engine was not built with: facts and our own words."""

TOLD = {
    "fa9710c99": {"GRP003"},
    "b60be18dc": {"COL002"},
    "b909bfacb": {"COL005"},
    "56fe130b1": {"GRP002"},
    "077a5cdde": {"GRP003"},
    "dc5bd147c": {"GRP001"},
}
"""The codes that are told in the functions of a bug, by its fix."""


def test_each_listed_bug_can_be_judged() -> None:
    for bug in LISTED:
        assert bug["kind"] in corpus.KINDS
        assert bug["decidable_class"] in ("yes", "maybe", "no")
        assert [len(bug[side]) for side in ("fix_commit", "parent_commit")] == [40, 40]
    assert {fix[:9] for fix in TOLD} <= {bug["fix_commit"][:9] for bug in LISTED}


@pytest.mark.parametrize("fix", TOLD)
def test_a_listed_bug_is_told_in_its_function(fix: str) -> None:
    mirrors = os.environ.get("MESHLINT_MIRRORS")
    if not mirrors:
        pytest.skip("MESHLINT_MIRRORS names no folder of mirrors")
    bug = next(bug for bug in LISTED if bug["fix_commit"].startswith(fix))
    git = Path(mirrors) / bug["repo"].replace("/", "+") / "repo"
    told = corpus.faults(git, bug["parent_commit"], corpus.files_of(git, bug))
    assert {fault.code for fault in told if corpus.named(bug, fault)} >= TOLD[fix]
