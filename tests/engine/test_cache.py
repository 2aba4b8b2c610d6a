"""The cache: equal bytes when warm, anew when anything changed, and no harm from a broken one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import meshlint.engine.whole as whole
from conftest import CommandLine


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count the runs that are done in full."""
    runs: list[int] = []
    real = whole.check_scope

    def count(*words: object) -> object:
        runs.append(1)
        return real(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(whole, "check_scope", count)
    yield runs


def cache() -> list[Path]:
    return sorted((Path(os.environ["XDG_CACHE_HOME"]) / "meshlint").glob("*.json"))


def test_a_warm_run_prints_the_same_and_does_nothing(
    meshlint: CommandLine, wrong_product: Path, counted: list[int]
) -> None:
    forms = ("full", "json", "sarif", "github", "concise", "jsonl")
    cold = [meshlint("check", "--no-cache", "--format", form) for form in forms]
    assert (len(counted), cache()) == (6, [])
    first = meshlint("check", "--format", "full")
    warm = [meshlint("check", "--format", form) for form in forms]
    assert len(counted) == 7
    assert (first, warm) == (cold[0], cold)


@pytest.mark.parametrize("change", ["content", "quietly", "new file", "base appears", "settings", "option", "gone"])
def test_whatever_changes_is_seen(meshlint: CommandLine, wrong_product: Path, counted: list[int], change: str) -> None:
    job = wrong_product / "job.toy.yaml"
    (wrong_product / "other.toy.yaml").write_text("base: base.toy.yaml\n")
    meshlint("check")
    words = ["check"]
    if change == "content":
        job.write_text("cp: 6\n")
    elif change == "quietly":
        before = job.stat()
        job.write_text(job.read_text().replace("4", "6"))
        os.utime(job, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "new file":
        (wrong_product / "new.toy.yaml").write_text("cp: 2\n")
    elif change == "base appears":
        (wrong_product / ".gitignore").write_text("base*\n")
        meshlint("check")
        counted.clear()
        counted.append(1)
        (wrong_product / "base.toy.yaml").write_text("cp: 2\n")
    elif change == "settings":
        (wrong_product / "meshlint.toml").write_text('ignore = ["HCP"]\n')
    elif change == "option":
        words += ["--env", "CP=4"]
    else:
        job.unlink()
    after = meshlint(*words)
    assert len(counted) == 2
    assert after == meshlint(*words, "--no-cache")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"looked": {}, "report": {}}', '{"looked": [], "report": 1}'])
def test_a_broken_cache_is_none(meshlint: CommandLine, wrong_product: Path, counted: list[int], content: str) -> None:
    first = meshlint("check")
    (entry,) = cache()
    entry.write_text(content)
    assert meshlint("check") == first
    assert len(counted) == 2


def test_a_cache_that_cannot_be_written_is_none(meshlint: CommandLine, wrong_product: Path) -> None:
    (Path(os.environ["XDG_CACHE_HOME"]) / "meshlint").write_text("a file where the folder should be")
    run = meshlint("check")
    assert (run.status, run.err) == (1, "")


def test_it_lies_outside_the_work_tree_unless_told(
    meshlint: CommandLine,
    wrong_product: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elsewhere = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(elsewhere))
    before = sorted(wrong_product.rglob("*"))
    meshlint("check")
    assert sorted(wrong_product.rglob("*")) == before
    assert cache()
    (wrong_product / "meshlint.toml").write_text('cache-dir = "kept"\n')
    meshlint("check")
    assert list((wrong_product / "kept").glob("*.json"))


def test_old_entries_go(meshlint: CommandLine, wrong_product: Path) -> None:
    from meshlint.engine.cache import KEPT

    for number in range(KEPT + 3):
        meshlint("check", "--world-size", str(number + 1))
    assert len(cache()) == KEPT
