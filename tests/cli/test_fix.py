"""`check --fix` writes the safe fixes, and `--fix-dry-run` shows them."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from conftest import CommandLine

HEAD = "#!/bin/bash\nARGS=(\n    --num-layers 4 --hidden-size 1024 --num-attention-heads 16\n"
TAIL = '    --seq-length 8192  # long\n)\ntorchrun --nproc-per-node 8 pretrain_gpt.py "${ARGS[@]}"\n'
TWICE = f"{HEAD}    --seq-length 4096\n    --micro-batch-size 1  # small\n{TAIL}"
ONCE = f"{HEAD}    --micro-batch-size 1  # small\n{TAIL}"
DIFF = [
    "--- a/run.sh",
    "+++ b/run.sh",
    "@@ -1,7 +1,6 @@",
    " #!/bin/bash",
    " ARGS=(",
    "     --num-layers 4 --hidden-size 1024 --num-attention-heads 16",
    "-    --seq-length 4096",
    "     --micro-batch-size 1  # small",
    "     --seq-length 8192  # long",
    " )",
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project with one script that gives a flag twice; it is the current folder."""
    (tmp_path / "meshlint.toml").write_text("")
    (tmp_path / "run.sh").write_text(TWICE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dry_run_prints_a_diff_that_git_applies(tree: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--fix-dry-run")
    assert (run.status, run.out.splitlines()) == (1, DIFF)
    assert run.err == "meshlint: 1 finding would be fixed: run.sh\n"
    assert (tree / "run.sh").read_text() == TWICE
    subprocess.run(["git", "apply", "-"], input=run.out, text=True, check=True, cwd=tree)
    assert (tree / "run.sh").read_text() == ONCE
    assert (meshlint("check", "--fix-dry-run").status, meshlint("check", "--fix-dry-run").out) == (0, "")


def test_fix_writes_once_and_tells_what_is_left(tree: Path, meshlint: CommandLine) -> None:
    (tree / "run.sh").chmod(0o755)
    run = meshlint("check", "--fix", "--format", "concise", "--fail-level", "warning")
    assert (run.status, run.out) == (0, "")
    assert "meshlint: 1 finding fixed: run.sh\n" in run.err
    assert (tree / "run.sh").read_text() == ONCE
    assert stat.S_IMODE((tree / "run.sh").stat().st_mode) == 0o755
    assert sorted(path.name for path in tree.iterdir()) == ["meshlint.toml", "run.sh"]
    assert "fixed" not in meshlint("check", "--fix").err


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks_stay(tree: Path, meshlint: CommandLine, mark: bytes) -> None:
    text = "MODEL_ARGS:\n  --num-layers: 4\n  --seq-length: 4096\n  --micro-batch-size: 1\n  --seq-length: 8192\n"
    file = tree / "case" / "model_config.yaml"
    file.parent.mkdir()
    file.write_bytes(mark + text.replace("\n", "\r\n").encode())
    meshlint("check", "--fix", "case")
    kept = text.replace("  --seq-length: 4096\n", "")
    assert file.read_bytes() == mark + kept.replace("\n", "\r\n").encode()


def test_what_is_suppressed_or_known_is_left_alone(tree: Path, meshlint: CommandLine) -> None:
    meshlint("baseline", "write")
    assert "fixed" not in meshlint("check", "--fix", "--baseline", "meshlint-baseline.txt").err
    quiet = TWICE.replace("# long", "# meshlint: ignore[CFG001] -- kept for a comparison")
    (tree / "run.sh").write_text(quiet)
    assert "fixed" not in meshlint("check", "--fix").err
    assert (tree / "run.sh").read_text() == quiet


def test_a_setting_that_another_launch_reads_is_not_edited(tree: Path, meshlint: CommandLine) -> None:
    both = TWICE + 'torchrun --nproc-per-node 8 pretrain_gpt.py "${ARGS[@]}" --seq-length 2048\n'
    (tree / "run.sh").write_text(
        both.replace("--micro-batch-size 1", "--cp-comm-type allgather --context-parallel-size 2")
    )
    before = (tree / "run.sh").read_text()
    run = meshlint("check", "--fix", "--select", "CTX002", "--format", "concise")
    assert (run.out, "1 finding fixed" in run.err) == ("", True)
    after = (tree / "run.sh").read_text()
    assert after == before.replace("allgather", "all_gather")
    (tree / "run.sh").write_text(before.replace("--seq-length 2048", "--context-parallel-size 1"))
    before = (tree / "run.sh").read_text()
    assert "CTX002" in meshlint("check", "--fix", "--select", "CTX002", "--format", "concise").out
    assert (tree / "run.sh").read_text() == before


@pytest.mark.parametrize(
    "twice",
    [
        "    --cp-comm-type p2p a2a --micro-batch-size 1\n    --cp-comm-type p2p\n",
        "    --cp-comm-type p2p\n\n    a2a\n    --cp-comm-type p2p\n",
        "    --seq-length $(nproc)\n",
        "    --seq-length `nproc`\n",
        "    --seq-length ${LENGTH:=4096}\n",
    ],
)
def test_a_value_that_does_more_or_has_more_is_left(tree: Path, meshlint: CommandLine, twice: str) -> None:
    text = f"{HEAD}{twice}{TAIL}"
    (tree / "run.sh").write_text(text)
    assert "fixed" not in meshlint("check", "--fix", "--select", "CFG001").err
    assert (tree / "run.sh").read_text() == text


def test_a_file_that_nobody_may_write_is_left(tree: Path, meshlint: CommandLine) -> None:
    (tree / "run.sh").chmod(0o444)
    run = meshlint("check", "--fix")
    assert "not fixed: run.sh:6: CFG001: run.sh is read-only" in run.err
    assert (tree / "run.sh").read_text() == TWICE


def test_nothing_is_written_through_a_link(
    tree: Path, meshlint: CommandLine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "run.sh"
    outside.write_text(TWICE)
    (tree / "run.sh").unlink()
    (tree / "run.sh").symlink_to(outside)
    (tree / "real.sh").write_text(TWICE)
    (tree / "link.sh").symlink_to("real.sh")
    run = meshlint("check", "--fix", "run.sh", "link.sh")
    assert run.err.count("is reached through a link") == 2
    assert outside.read_text() == TWICE
    assert (tree / "real.sh").read_text() == TWICE
    assert (tree / "link.sh").is_symlink() and (tree / "run.sh").is_symlink()


def test_a_file_that_changed_since_it_was_judged_is_left(
    tree: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from meshlint.engine import fix

    real = fix.plan

    def late(*given: object) -> fix.Plan:
        made = real(*given)  # type: ignore[arg-type]
        (tree / "run.sh").write_text(f"{TWICE}# more\n")
        return made

    monkeypatch.setattr(fix, "plan", late)
    run = meshlint("check", "--fix")
    assert "meshlint: not fixed: run.sh has changed since it was judged\n" in run.err
    assert (tree / "run.sh").read_text() == f"{TWICE}# more\n"


def test_a_file_that_may_not_be_written_is_told(
    tree: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refused)
    run = meshlint("check", "--fix", "--no-cache", "--fail-level", "warning")
    assert "meshlint: not fixed: run.sh cannot be written: Permission denied\n" in run.err
    assert (run.status, (tree / "run.sh").read_text()) == (1, TWICE)
    assert sorted(path.name for path in tree.iterdir()) == ["meshlint.toml", "run.sh"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fix", "--fix-dry-run"), "give --fix or --fix-dry-run, not both"),
        (("--fix", "--diff-file", "x.patch"), "give --fix or --diff-file, not both"),
        (
            ("--fix-dry-run", "--", "torchrun", "run.py"),
            "--fix-dry-run is about files, and a command behind `--` is none",
        ),
    ],
)
def test_what_cannot_be_fixed_is_refused(tree: Path, meshlint: CommandLine, words: tuple[str, ...], said: str) -> None:
    run = meshlint("check", *words)
    assert run.status == 2
    assert said in run.err


def test_under_diff_only_files_of_the_change_are_edited(tree: Path, meshlint: CommandLine) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *identity, *words], check=True, cwd=tree)
    (tree / "new.sh").write_text(TWICE)
    subprocess.run(["git", "add", "new.sh"], check=True, cwd=tree)
    run = meshlint("check", "--diff", "HEAD", "--fix", "--format", "concise")
    assert (run.status, run.out) == (0, "")
    assert (tree / "new.sh").read_text() == ONCE
    assert (tree / "run.sh").read_text() == TWICE


def test_machines_get_the_edits(tree: Path, meshlint: CommandLine) -> None:
    import json

    (found,) = json.loads(meshlint("check", "--format", "json").out)["findings"]
    place = {"path": "run.sh", "line": 4, "column": 1, "end_line": 5, "end_column": 1}
    assert found["fix"] == {"description": "Take one of the two away.", "safe": True, "edits": [{**place, "text": ""}]}
    sarif = json.loads(meshlint("check", "--format", "sarif").out)["runs"][0]["results"][0]
    region = {"startLine": 4, "startColumn": 1, "endLine": 5, "endColumn": 1}
    replacement = {"deletedRegion": region, "insertedContent": {"text": ""}}
    assert sarif["fixes"][0]["artifactChanges"][0]["replacements"] == [replacement]
    rdjson = json.loads(meshlint("check", "--format", "rdjson").out)["diagnostics"][0]
    ends = {"start": {"line": 4, "column": 1}, "end": {"line": 5, "column": 1}}
    assert rdjson["suggestions"] == [{"range": ends, "text": ""}]


def test_a_fix_outside_of_the_change_is_not_safe_in_it(tree: Path, meshlint: CommandLine) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    text = ONCE.replace("ARGS=(", 'source "$(dirname "$0")/sizes.sh"\nARGS=(', 1)
    text = text.replace("--micro-batch-size 1", "--cp-comm-type allgather --context-parallel-size ${CP}")
    (tree / "run.sh").write_text(text)
    (tree / "sizes.sh").write_text("CP=1\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *identity, *words], check=True, cwd=tree)
    (tree / "sizes.sh").write_text("CP=2\n")
    run = meshlint("check", "--diff", "HEAD", "--fix", "--select", "CTX002", "--format", "concise")
    assert (run.status, "CTX002" in run.out) == (1, True)
    assert (tree / "run.sh").read_text() == text
