"""Files that are none, files that are far too long, and names that command a CI runner: a run ends, and says so.

Each runs as a process of its own with a limit of time that fails the test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LIMIT = 120.0
LAUNCH = (
    "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
    "--context-parallel-size 4 --cp-comm-type a2a+p2p\n"
)
"""A launch with one fault, HCP001."""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Judge a folder, with a cache of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "meshlint", "check", *words],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr, done.stderr
    return done


def found(folder: Path) -> list[tuple[str, str, str]]:
    """Give code, path and message of the findings."""
    report = json.loads(run(folder, "--format", "json").stdout)
    return [(f["code"], f["path"], f["message"]) for f in report["findings"]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a folder with one launch that has a fault."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "run.sh").write_text(LAUNCH)
    return folder


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def _outside(file: Path) -> None:
    file.symlink_to("/etc/passwd")


def _large(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)


@pytest.mark.parametrize("make", [_pipe, _device, _outside, _large])
def test_an_ignore_file_that_is_no_list_is_not_read_and_is_told(tree: Path, make: Callable[[Path], None]) -> None:
    make(tree / ".gitignore")
    findings = found(tree)
    assert [(code, path) for code, path, _ in findings] == [("MSH003", ".gitignore"), ("HCP001", "run.sh")]
    assert "its patterns are not used" in findings[0][2]


def test_one_wrong_pattern_leaves_the_others_in_force(tree: Path) -> None:
    (tree / "left.sh").write_text(LAUNCH)
    (tree / ".gitignore").write_text("!\nleft.sh\n")
    assert [(code, path) for code, path, _ in found(tree)] == [("MSH003", ".gitignore"), ("HCP001", "run.sh")]


@pytest.mark.parametrize("name", ["a.sh", "model_config.yaml", "a.py", "uv.lock", "Dockerfile", "pyproject.toml"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tree: Path, name: str) -> None:
    os.mkfifo(tree / name)
    assert ("HCP001", "run.sh") in [(code, path) for code, path, _ in found(tree)]


@pytest.mark.parametrize("target", ["/dev/zero", "/proc/kmsg", "/proc/self/fd/0", "/etc/passwd"])
def test_a_link_out_of_the_tree_is_not_read_even_to_keep_the_report(tree: Path, target: str) -> None:
    (tree / "a.sh").symlink_to(target)
    assert ("HCP001", "run.sh") in [(code, path) for code, path, _ in found(tree)]


def test_utf_7_is_named(tree: Path) -> None:
    (tree / "a.sh").write_text(LAUNCH.replace("+", "+-").replace("_", "+AF8-"))  # as iconv writes it
    assert [(code, path) for code, path, _ in found(tree)] == [("MSH003", "a.sh"), ("HCP001", "run.sh")]


def test_what_lies_in_the_judged_folder_is_not_imported(tree: Path) -> None:
    for name in ("click.py", "json.py", "yaml.py", "tomllib.py", "tree_sitter.py", "meshlint_rules.py"):
        (tree / name).write_text("import pathlib\npathlib.Path('executed').touch()\n")
    pack = tree / "evil-1.dist-info"
    pack.mkdir()
    (pack / "entry_points.txt").write_text("[meshlint.rules]\nevil = click:x\n")
    assert ("HCP001", "run.sh") in [(code, path) for code, path, _ in found(tree)]
    assert not (tree / "executed").exists()


@pytest.mark.parametrize("number", ["²", "9" * 5000, "0x" + "f" * 5000, "1e400", "-4", "٤"])
def test_a_size_that_is_no_size_is_no_fault_of_meshlint(tree: Path, number: str) -> None:
    (tree / "a.sh").write_text(
        f"NPROC_PER_NODE={number} megatron sft --model m --context_parallel_size {number} --cp_comm_type a2a+p2p\n"
        f"torchrun --nproc_per_node {number} pretrain_gpt.py --num-layers {number} --window-size {number}\n"
        f"python3 train.py --actor-num-nodes {number} --actor-num-gpus-per-node {number} --rollout-num-gpus {number}\n"
    )
    (tree / "recipes.py").write_text(
        "from megatron.bridge.training.config import ConfigContainer\n"
        "def recipe() -> ConfigContainer:\n    cfg = ConfigContainer()\n"
        f"    for i in range(10**30): cfg.model.x = i\n    cfg.model.num_layers = int({number!r})\n    return cfg\n"
    )
    assert ("HCP001", "run.sh") in [(code, path) for code, path, _ in found(tree)]


def test_a_command_of_very_many_words_is_told_and_the_others_are_judged(tree: Path) -> None:
    (tree / "a.sh").write_text(f"{LAUNCH}A='--x {'y ' * 50_000}'\ntorchrun pretrain_gpt.py $A $A $A\n{LAUNCH}")
    findings = found(tree)
    assert [(code, path) for code, path, _ in findings] == [
        ("HCP001", "a.sh"),
        ("MSH003", "a.sh"),
        ("HCP001", "a.sh"),
        ("HCP001", "run.sh"),
    ]
    assert "characters; meshlint reads at most 200,000" in findings[1][2]


def test_bases_that_all_inherit_from_each_other_end(tree: Path) -> None:
    bases = "defaults:\n" + "".join(f"  - c{i}.yaml\n" for i in range(25))
    for i in range(25):
        (tree / f"c{i}.yaml").write_text(f"{bases}policy:\n  megatron_cfg:\n    enabled: true\n")
    findings = found(tree)
    assert ("HCP001", "run.sh") in [(code, path) for code, path, _ in findings]
    assert any(code == "MSH003" and "circle" in message for code, _, message in findings)


def test_too_many_patterns_to_exclude_are_refused(tree: Path) -> None:
    (tree / "meshlint.toml").write_text(f"exclude = [{','.join(repr(f'a{i}*') for i in range(5_000))}]\n")
    done = run(tree)
    assert done.returncode == 2
    assert "more than 2,000 patterns" in done.stderr


def entries(folder: Path) -> list[Path]:
    """Give the kept reports."""
    return sorted((folder.parent / "cache/meshlint").glob("*.json"))


def test_a_damaged_entry_of_the_cache_counts_as_none(tree: Path) -> None:
    whole = found(tree)
    (entry,) = entries(tree)
    text = entry.read_text()
    for damaged in ("", "[]", text[:-40], text.replace('"HCP001"', '"HCP002"', 1), text.partition("\n")[2], "\0" * 9):
        entry.write_text(damaged)
        assert found(tree) == whole
    entry.unlink()
    entry.mkdir()
    assert found(tree) == whole


def test_a_cache_folder_keeps_the_files_of_others(tree: Path) -> None:
    (tree / "meshlint.toml").write_text('cache-dir = "results"\n')
    (tree / "results").mkdir()
    for i in range(60):
        (tree / f"results/run{i}.json").write_text("{}")
        os.utime(tree / f"results/run{i}.json", (i, i))
    found(tree)
    assert len(list((tree / "results").glob("run*.json"))) == 60
    assert len(list((tree / "results").glob("*.json"))) == 61
