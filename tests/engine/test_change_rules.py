"""Rules that judge a change: when they are asked, where they speak, and who stands where two rules see one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine, Run
from meshlint.testing import change_text

SPLIT = """import torch
import torch.distributed as dist


def split(tokens, limit, dp_group=None):
    count = torch.tensor([-(-len(tokens) // limit)])
    if dist.is_initialized(){}:
        dist.all_reduce(count, op=dist.ReduceOp.MAX, group=dp_group)
    return tokens.chunk(int(count))
"""
CALLERS = """from split import split


def update(tokens, dp_group):
    return split(tokens, 4096), split(tokens, 4096, dp_group=dp_group)
"""
GUARD = " and dp_group is not None"
CUT = """def cut(x, cp_size):
{}    return x.view(x.size(0), 2 * cp_size, -1)
"""
CHECK = "    assert x.size(1) % (2 * cp_size) == 0\n"


@pytest.fixture
def changed(meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Give a function that judges a change from some files to others; names may differ, for a rename."""

    def call(before: dict[str, str], after: dict[str, str], *words: str) -> Run:
        for side, files in (("before", before), ("after", after)):
            (tmp_path / side).mkdir()
            for name, text in files.items():
                (tmp_path / side / name).write_text(text)
        patch = tmp_path / "change.patch"
        patch.write_text(change_text(tmp_path / "before", tmp_path / "after"))
        monkeypatch.chdir(tmp_path / "after")
        return meshlint(
            "check", "--diff-file", patch, "--format", "concise", "--no-cache", "--extend-select", "DIF", *words
        )

    return call


def codes(run: Run) -> list[list[str]]:
    """Give path, line and code of each finding."""
    return [[*line.split(":")[:2], line.split(": ")[1].split()[1]] for line in run.out.splitlines()]


def test_a_guard_is_told_on_its_line_and_names_who_leaves_the_group_out(changed) -> None:  # type: ignore[no-untyped-def]
    run = changed(
        {"split.py": SPLIT.format(""), "actor.py": CALLERS}, {"split.py": SPLIT.format(GUARD), "actor.py": CALLERS}
    )
    assert codes(run) == [["split.py", "7", "DIF001"]]
    assert "one call gives none (actor.py:5)" in run.out
    assert run.status == 0  # a warning


def test_it_stands_for_the_callers_that_another_rule_would_tell(changed) -> None:  # type: ignore[no-untyped-def]
    run = changed(
        {"split.py": SPLIT.format(""), "actor.py": CALLERS},
        {"split.py": SPLIT.format(GUARD), "actor.py": CALLERS},
        "--preview",
    )
    assert codes(run) == [["split.py", "7", "DIF001"]]


def test_without_a_change_nothing_is_said(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "split.py").write_text(SPLIT.format(GUARD))
    (tmp_path / "actor.py").write_text(CALLERS)
    monkeypatch.chdir(tmp_path)
    run = meshlint("check", ".", "--format", "concise", "--no-cache", "--select", "DIF")
    assert run.out == ""


def test_a_comment_silences_it(changed) -> None:  # type: ignore[no-untyped-def]
    silenced = SPLIT.format(GUARD).replace(
        "None:\n        dist", "None:  # meshlint: ignore[DIF001] -- meant\n        dist"
    )
    run = changed({"split.py": SPLIT.format(""), "actor.py": CALLERS}, {"split.py": silenced, "actor.py": CALLERS})
    assert run.out == ""


def test_the_place_of_a_check_that_is_gone(changed) -> None:  # type: ignore[no-untyped-def]
    run = changed({"cut.py": "# head\n" + CUT.format(CHECK)}, {"cut.py": CUT.format("")})
    assert codes(run) == [["cut.py", "2", "DIF002"]]


def test_only_where_it_is_selected(changed) -> None:  # type: ignore[no-untyped-def]
    run = changed({"cut.py": CUT.format(CHECK)}, {"cut.py": CUT.format("")}, "--ignore", "DIF002")
    assert run.out == ""


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_side_that_cannot_be_parsed_says_nothing_of_the_change(changed, side: str) -> None:  # type: ignore[no-untyped-def]
    before, after = CUT.format(CHECK), CUT.format("")
    broken = "def cut(:\n"
    run = changed({"cut.py": broken if side == "before" else before}, {"cut.py": broken if side == "after" else after})
    assert "DIF" not in run.out
    assert run.status in (0, 1)


def test_new_and_removed_files_are_no_change_of_a_function(changed) -> None:  # type: ignore[no-untyped-def]
    run = changed({"old.py": CUT.format(CHECK)}, {"new.py": CUT.format("")})
    assert run.out == ""


def test_a_rule_that_fails_is_told_and_the_others_go_on(changed, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    from meshlint.engine.ruleset import load

    guard = next(rule for rule in load() if rule.code == "DIF001")

    def fails(self: object, change: object) -> object:
        raise RuntimeError

    monkeypatch.setattr(guard, "check", fails)
    run = changed({"cut.py": CUT.format(CHECK)}, {"cut.py": CUT.format("")})
    assert codes(run) == [["cut.py", "2", "DIF002"]]
    assert run.status == 3
    assert "DIF001 failed" in run.err


def test_the_line_where_a_former_line_stands_now() -> None:
    from meshlint.engine.change_rules import moves
    from meshlint.sources.patch import read_patch

    first = "@@ -1,4 +1,5 @@\n+new\n one\n-two\n three\n four\n+five\n"
    diff = f"--- a/f.py\n+++ b/f.py\n{first}@@ -10,2 +11,1 @@\n ten\n-eleven\n"
    moved = moves(read_patch(diff).files[0])
    assert [moved(line) for line in (1, 2, 3, 4, 7, 10, 11, 12)] == [2, 3, 3, 4, 8, 11, 11, 12]
