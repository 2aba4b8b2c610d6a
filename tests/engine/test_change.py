"""`check --diff` and `--diff-file` tell what a change causes, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import CommandLine, git

FLAGS = (
    "--num-layers 4",
    "--hidden-size 1024",
    "--num-attention-heads 16",
    "--seq-length 4096",
    "--max-position-embeddings 4096",
    "--micro-batch-size 1",
    "--global-batch-size 16",
    "--context-parallel-size 4",
)
FAULT = "--cp-comm-type a2a+p2p"


def script(*more: str, head: str = "") -> str:
    lines = "\n".join(f"    {flag}" for flag in (*FLAGS, *more))
    return f'#!/bin/bash\n{head}ARGS=(\n{lines}\n)\ntorchrun --nproc-per-node 8 pretrain_gpt.py "${{ARGS[@]}}"\n'


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a checkout with one faulty launch that was there before, and a right one."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "old.sh").write_text(script(FAULT))
    (folder / "run.sh").write_text(script())
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    monkeypatch.chdir(folder)
    return folder


def test_only_what_the_change_causes_is_told(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "run.sh").write_text(script(FAULT))
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert run.status == 1
    assert [line.split(":")[:2] for line in run.out.splitlines()] == [["run.sh", "11"]]


def test_a_finding_that_moved_is_not_new(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "old.sh").write_text(script(FAULT, head="# one\n# two\n"))
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out) == (0, "")


def test_a_finding_in_a_renamed_file_is_not_new(checkout: Path, meshlint: CommandLine) -> None:
    git(checkout, "mv", "old.sh", "newer.sh")
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out) == (0, "")


def test_words_alone_pass_in_silence(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "README.md").write_text("words\n")
    git(checkout, "add", ".")
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out, run.err) == (0, "", "")


def test_the_side_before_is_judged_only_where_there_is_something_to_compare(
    checkout: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[frozenset[str]] = []
    from meshlint.engine import change

    real = change.judged
    monkeypatch.setattr(
        change, "judged", lambda scope, *more, **keep: judged.append(scope.named) or real(scope, *more, **keep)
    )
    (checkout / "README.md").write_text("words\n")
    git(checkout, "add", ".")
    meshlint("check", "--diff", "HEAD")
    assert judged == []
    (checkout / "run.sh").write_text(script("--recompute-granularity selective"))
    meshlint("check", "--diff", "HEAD")
    assert judged == [frozenset({"README.md", "run.sh"})]
    (checkout / "run.sh").write_text(script(FAULT))
    assert meshlint("check", "--diff", "HEAD").status == 1
    assert len(judged) == 3


def test_no_change_tells_nothing(checkout: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out) == (0, "")


def test_the_change_counts_from_what_both_sides_share(checkout: Path, meshlint: CommandLine) -> None:
    git(checkout, "checkout", "-q", "-b", "topic")
    (checkout / "run.sh").write_text(script(FAULT))
    git(checkout, "commit", "-q", "-a", "-m", "topic")
    git(checkout, "checkout", "-q", "main")
    (checkout / "old.sh").write_text(script())
    git(checkout, "commit", "-q", "-a", "-m", "mend it on main")
    git(checkout, "checkout", "-q", "topic")
    run = meshlint("check", "--diff", "main", "--format", "concise")
    assert [line.split(":")[0] for line in run.out.splitlines()] == ["run.sh"]


def test_a_file_that_others_source_is_the_place(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "sizes.sh").write_text("CP=1\n")
    text = script(FAULT, "--hierarchical-context-parallel-sizes 2 2").replace("size 4", "size ${CP}")
    (checkout / "user.sh").write_text(text.replace("ARGS=(", 'source "$(dirname "$0")/sizes.sh"\nARGS=(', 1))
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "second")
    (checkout / "sizes.sh").write_text("CP=8\n")
    run = meshlint("check", "--diff", "HEAD", "--format", "concise", "--select", "HCP002", "--diff-mode", "added")
    assert run.status == 1
    assert [line.split(":")[:2] for line in run.out.splitlines()] == [["sizes.sh", "1"]]


def test_a_deleted_base_counts_as_there_before(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "old.sh").unlink()
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out) == (0, "")


def test_a_base_that_goes_or_moves_is_missed(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "base.sh").write_text("SIZES='2 2'\n")
    lines = ("--hierarchical-context-parallel-sizes ${SIZES:-3 3}", FAULT)
    (checkout / "use.sh").write_text(script(*lines, head="source ./base.sh\n"))
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "base")
    for words in (("rm", "-q", "base.sh"), ("mv", "base.sh", "other.sh")):
        git(checkout, "reset", "-q", "--hard")
        git(checkout, *words)
        run = meshlint("check", "--diff", "HEAD", "--format", "concise")
        assert run.status == 1
        assert {line.split(":")[0] for line in run.out.splitlines()} == {"use.sh"}


def test_a_base_that_comes_makes_nothing_new(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "use.sh").write_text(script(FAULT, head="source ./base.sh\n"))
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "use")
    (checkout / "base.sh").write_text("X=1\n")
    git(checkout, "add", ".")
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out) == (0, "")


def test_a_file_that_git_does_not_know_is_new(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "fresh.sh").write_text(script(FAULT))
    git(checkout, "add", "-N", "fresh.sh")
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert [line.split(":")[0] for line in run.out.splitlines()] == ["fresh.sh"]


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_a_diff_from_a_file(checkout: Path, meshlint: CommandLine, ending: str) -> None:
    (checkout / "run.sh").write_bytes(script().replace("\n", ending).encode())
    git(checkout, "commit", "-q", "--allow-empty", "-a", "-m", "endings")
    (checkout / "run.sh").write_bytes(script(FAULT).replace("\n", ending).rstrip(ending).encode())
    patch = checkout.parent / "change.patch"
    patch.write_bytes(subprocess.run(["git", "diff"], cwd=checkout, check=True, capture_output=True).stdout)
    run = meshlint("check", "--diff-file", str(patch), "--format", "concise")
    assert run.status == 1
    assert [line.split(":")[:2] for line in run.out.splitlines()] == [["run.sh", "11"]]


def test_modes_ask_for_a_changed_place(checkout: Path, meshlint: CommandLine) -> None:
    text = script(FAULT, "--hierarchical-context-parallel-sizes 2 2")
    (checkout / "run.sh").write_text(text)
    git(checkout, "commit", "-q", "-a", "-m", "right")
    (checkout / "run.sh").write_text(script(FAULT))
    told = {
        mode: meshlint("check", "--diff", "HEAD", "--format", "concise", "--diff-mode", mode).out.count("HCP001")
        for mode in ("all", "file", "context", "added")
    }
    assert told == {"all": 1, "file": 1, "context": 1, "added": 0}


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        ("nothing like a diff\n", "this is not a unified diff"),
        ("--- a/run.sh\n+++ b/run.sh\n@@ -1,1 +1,1 @@\n-x\n+y\n", "does not fit `run.sh`"),
        ("--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -1,1 +1,1 @@\n-x\n+y\n", "leads out of the tree"),
        ("--- a/nothere.sh\n+++ b/nothere.sh\n@@ -1,1 +1,1 @@\n-x\n+y\n", "there is no such file"),
        ("--- a/run.sh\n+++ b/run.sh\n@@ -1,9 +1,9 @@\n-x\n", "cannot be read"),
    ],
)
def test_a_diff_that_cannot_be_used(checkout: Path, meshlint: CommandLine, patch: str, sentence: str) -> None:
    file = checkout.parent / "bad.patch"
    file.write_text(patch)
    run = meshlint("check", "--diff-file", str(file))
    assert run.status == 2
    assert sentence in run.err


def test_a_revision_that_does_not_exist(checkout: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--diff", "no-such-branch")
    assert run.status == 2
    assert "there is no revision `no-such-branch`" in run.err


def test_a_revision_is_no_option_of_git(checkout: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--diff=--output=stolen")
    assert run.status == 2
    assert not (checkout / "stolen").exists()


def test_a_shallow_clone_tells_everything(
    checkout: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "run.sh").write_text(script(FAULT))
    git(checkout, "commit", "-q", "-a", "-m", "second")
    shallow = checkout.parent / "shallow"
    git(checkout.parent, "clone", "-q", "--depth", "1", f"file://{checkout}", str(shallow))
    monkeypatch.chdir(shallow)
    run = meshlint("check", "--diff", "HEAD~1", "--format", "concise")
    assert run.status == 1
    assert "a shallow clone?" in run.err
    assert {line.split(":")[0] for line in run.out.splitlines()} == {"old.sh", "run.sh"}


def test_outside_of_a_checkout(tmp_path: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = meshlint("check", "--diff", "HEAD")
    assert run.status == 2
    assert "--diff wants a git checkout" in run.err


def test_the_first_commit(tmp_path: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "run.sh").write_text(script(FAULT))
    git(tmp_path, "add", ".")
    monkeypatch.chdir(tmp_path)
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert [line.split(":")[0] for line in run.out.splitlines()] == ["run.sh"]


def test_a_file_that_cannot_be_read_is_no_reason_to_judge_nothing(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / "notes.py").write_bytes(b"# caf\xe9\n")
    (checkout / "link.sh").symlink_to("run.sh")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "bytes and a link")
    (checkout / "notes.py").write_bytes(b"# caf\xe9!\n")
    (checkout / "link.sh").unlink()
    (checkout / "link.sh").symlink_to("old.sh")
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out) == (0, "")
    (checkout / "run.sh").write_text(script(FAULT))
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert [line.split(":")[:2] for line in run.out.splitlines()] == [["run.sh", "11"]]


def test_a_file_that_attributes_call_binary_is_compared(checkout: Path, meshlint: CommandLine) -> None:
    (checkout / ".gitattributes").write_text("*.sh -diff\n")
    (checkout / "old.sh").write_text(script(FAULT, head="# more\n"))
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out) == (0, "")
    (checkout / "run.sh").write_text(script(FAULT))
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert [line.split(":")[:2] for line in run.out.splitlines()] == [["run.sh", "11"]]


def test_what_a_diff_does_not_show_counts_as_new(checkout: Path, meshlint: CommandLine) -> None:
    patch = checkout.parent / "change.patch"
    patch.write_text("diff --git a/old.sh b/old.sh\nindex 0..1 100644\nBinary files a/old.sh and b/old.sh differ\n")
    run = meshlint("check", "--diff-file", str(patch), "--format", "concise")
    assert [line.split(":")[0] for line in run.out.splitlines()] == ["old.sh"]
    assert "what was in `old.sh` before is not in the diff: its findings count as new" in run.err


GATED = "    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n    x = x * 2\n"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_new_one_of_equal_findings_is_told(checkout: Path, meshlint: CommandLine, place: int) -> None:
    head, foot = "import torch.distributed as dist\n\n\ndef step(x):\n", "    return x\n"
    code = checkout / "step.py"
    code.write_text(f"{head}{GATED * 2}{foot}")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "two")
    meshlint("baseline", "write", "--preview")
    code.write_text(f"{head}{GATED * place}{GATED.replace('* 2', '* 3')}{GATED * (2 - place)}{foot}")
    words = ("check", "--diff", "HEAD", "--preview", "--format", "concise")
    for more in ((), ("--diff-mode", "added"), ("--baseline", "meshlint-baseline.txt")):
        run = meshlint(*words, *more)
        lines = [int(line.split(":")[1]) for line in run.out.splitlines()]
        assert len(lines) == 1
        assert lines[0] in _added(checkout)


def _added(folder: Path) -> set[int]:
    from meshlint.sources.patch import read_patch

    return {line for change in read_patch(git(folder, "diff", "HEAD")).files for line in change.added}


def test_files_are_those_beside_the_checkouts_own_folder(checkout: Path, meshlint: CommandLine) -> None:
    (checkout.parent / "elsewhere").mkdir()
    git(checkout, "config", "core.worktree", str(checkout.parent / "elsewhere"))
    (checkout / "run.sh").write_text(script(FAULT))
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert [line.split(":")[:2] for line in run.out.splitlines()] == [["run.sh", "11"]]


@pytest.mark.parametrize("words", [("check", "--diff", "HEAD"), ("diff", "HEAD:run.sh", "run.sh")])
def test_filters_of_a_submodule_are_not_run(checkout: Path, meshlint: CommandLine, words: tuple[str, ...]) -> None:
    inner = checkout / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "run.sh").write_text(script())
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "first")
    git(checkout, "add", "inner")
    git(checkout, "commit", "-q", "-m", "inner")
    git(inner, "config", "filter.evil.clean", f"touch {checkout}/ran; cat")
    (inner / ".git" / "info" / "attributes").write_text("*.sh filter=evil\n")
    os.utime(inner / "run.sh", (1, 1))
    (checkout / "run.sh").write_text(script(FAULT))
    assert "HCP001" in meshlint(*words).out
    assert not (checkout / "ran").exists()


def test_filters_of_the_checkout_are_not_run(checkout: Path, meshlint: CommandLine) -> None:
    git(checkout, "config", "filter.evil.clean", "touch ran; cat")
    (checkout / ".git" / "info" / "attributes").write_text("*.sh filter=evil\n")
    (checkout / "run.sh").write_text(script(FAULT))
    run = meshlint("check", "--diff", "HEAD", "--format", "concise")
    assert (run.status, run.out.startswith("run.sh:11:")) == (1, True)
    assert not (checkout / "ran").exists()


@pytest.mark.parametrize("where", ["", "jobs/"])
def test_a_release_that_a_change_fixes_counts_for_the_launches_under_it(
    checkout: Path, meshlint: CommandLine, where: str
) -> None:
    sizes = script(FAULT, "--hierarchical-context-parallel-sizes 2 2")
    for folder in ("jobs", "others"):
        (checkout / folder).mkdir()
        (checkout / folder / "run.sh").write_text(sizes)
    pins = checkout / f"{where}requirements.txt"
    pins.write_text("torch\ntransformer-engine==2.10.0\n")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "pinned")
    pins.write_text("torch  # any\ntransformer-engine==2.10.0\n")
    assert meshlint("check", "--diff", "HEAD").out == ""
    pins.write_text("torch\ntransformer-engine==1.11.0\n")
    run = meshlint("check", "--diff", "HEAD", "--format", "json")
    found = {
        (f["code"], f["path"], f["line"], place["path"])
        for f in json.loads(run.out)["findings"]
        for place in f["launches"]
    }
    assert run.status == 1
    assert ("HCP005", f"{where}requirements.txt", 2, "jobs/run.sh") in found
    assert any(path == "others/run.sh" for *_, path in found) is (where == "")
    assert not any(path == "run.sh" for *_, path in found)
