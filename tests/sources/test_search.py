"""A search says the same with git and without, and what it went over counts as looked at."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import CommandLine, git
from meshlint.config.commands.verl import STANDARD
from meshlint.config.registry import WORDS
from meshlint.sources.discover import discover
from meshlint.sources.search import FEW, Sought, begin
from meshlint.sources.tree import Tree

SOUGHT = (Sought(("needle.yaml",), (".sh",)), Sought(("needle",), (".yaml", ".yml")))


@pytest.fixture
def haystack(tmp_path: Path) -> Path:
    """Make a checkout with more files than are read one by one."""
    for number in range(FEW + 5):
        (tmp_path / f"a{number}.sh").write_text("echo\n")
        (tmp_path / f"a{number}.yaml").write_text("a: 1\n")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "with space.sh").write_text("train --config needle.yaml\n")
    (tmp_path / "a1.sh").write_text("train --config needle\n")
    (tmp_path / "a2.yaml").write_text("defaults: [needle]\n")
    (tmp_path / "a3.py").write_text("needle.yaml\n")
    (tmp_path / "needle.yaml").write_text("a: 1\n")
    return tmp_path


@pytest.mark.parametrize("kept", [None, (), (".",), (":!a2.yaml", ":!sub")])
def test_git_and_reading_find_the_same(haystack: Path, kept: tuple[str, ...] | None) -> None:
    if kept is not None:
        git(haystack, "init", "-q")
        (haystack / ".gitattributes").write_text("*.sh binary\n*.yaml -diff\n")
    if kept:
        git(haystack, "add", *kept)
        git(haystack, "update-index", "--assume-unchanged", "a7.yaml", "a8.yaml")
        (haystack / "a7.yaml").write_text("defaults: [needle]\n")
        (haystack / "a9.yaml").write_text("defaults: [needle]\n")
    scope = discover(["needle.yaml"], haystack, (), haystack)
    tree = Tree(scope.root, scope.roots)
    found = begin(scope, SOUGHT).found(tree)
    assert found == {"sub/with space.sh", "a2.yaml", *(("a7.yaml", "a9.yaml") if kept else ())}
    assert {"a5.sh", "a5.yaml", "sub/with space.sh"} <= tree.looked()


def test_a_replaced_file_counts_as_it_is_to_be_read(haystack: Path) -> None:
    subprocess.run(["git", "init", "-q", str(haystack)], check=True)
    scope = discover(["needle.yaml"], haystack, (), haystack)
    replaced = {"a2.yaml": "a: 1\n", "a4.sh": "train needle.yaml\n"}
    wide = type(scope)(scope.root, scope.roots, scope.files, scope.asked, scope.named, replaced=replaced)
    found = begin(wide, SOUGHT).found(Tree(scope.root, scope.roots, replaced))
    assert found == {"sub/with space.sh", "a4.sh"}


def test_a_search_that_nobody_asks_ends(haystack: Path) -> None:
    subprocess.run(["git", "init", "-q", str(haystack)], check=True)
    with begin(discover(["needle.yaml"], haystack, (), haystack), SOUGHT) as search:
        running = [part.git.process for part in search.parts if part.git is not None and part.git.process is not None]
        assert len(running) == 2
    assert all(process.poll() is not None for process in running)


def test_a_script_that_comes_to_name_a_config_is_seen_past_the_cache(
    haystack: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", str(haystack)], check=True)
    monkeypatch.chdir(haystack)
    grid = "policy:\n  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 3\n"
    (haystack / "needle.yaml").write_text(f"{grid}cluster:\n  gpus_per_node: 8\n  num_nodes: 3\n")
    first = meshlint("check", "needle.yaml")
    assert meshlint("check", "needle.yaml") == first
    (haystack / "a7.sh").write_text("uv run examples/run_grpo.py --config needle.yaml cluster.num_nodes=4\n")
    assert first.status == 0
    assert "launches: a7.sh" in meshlint("check", "needle.yaml").out


def test_the_words_of_a_surface_are_those_that_it_looks_for() -> None:
    assert all(any(word in name for word in WORDS["verl_yaml"]) for name in STANDARD)
