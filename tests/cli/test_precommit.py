"""The hooks with the real pre-commit: installed from this checkout, in a scratch repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conftest import git
from meshlint.sources.discover import SCRIPTS

ROOT = Path(__file__).parents[2]
RIGHT = (ROOT / "fixtures" / "HCP001" / "good" / "slime.sh").read_text()
WRONG = (ROOT / "fixtures" / "HCP001" / "bad" / "slime.sh").read_text()

pytest.importorskip("pre_commit")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a repository with both hooks, out of a copy of this checkout's own files."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    source = tmp_path_factory.mktemp("source")
    listed = git(ROOT, "ls-files", "-z", "analyzer", "rules", "pyproject.toml", "README.md", ".pre-commit-hooks.yaml")
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    git(source, "init", "-q")
    git(source, "add", "-f", ".")
    git(source, "commit", "-q", "-m", "source")
    folder = tmp_path_factory.mktemp("scratch")
    git(folder, "init", "-q")
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {source}\n  rev: {git(source, 'rev-parse', 'HEAD').strip()}\n"
        "  hooks:\n  - id: meshlint\n  - id: meshlint-diff\n"
    )
    (folder / "run.sh").write_text(RIGHT)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def hooks(folder: Path, home: Path, *words: str, skip: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(home), "SKIP": skip, "XDG_CACHE_HOME": str(home / "cache")}
    command = [sys.executable, "-m", "pre_commit", "run", "--color", "never", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_fault_is_blocked_and_its_cure_passes(scratch: Path, home: Path) -> None:
    (scratch / "run.sh").write_text(WRONG)
    git(scratch, "add", ".")
    done = hooks(scratch, home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count("run.sh:9:19: error HCP001") == 2
    skipped = hooks(scratch, home, skip="meshlint")
    assert skipped.stdout.count("run.sh:9:19: error HCP001") == 1
    (scratch / "run.sh").write_text(RIGHT + "# more\n")
    git(scratch, "add", ".")
    done = hooks(scratch, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "HCP001" not in done.stdout


def test_every_file_that_launches_are_written_in_is_given() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    wanted = re.compile(hooks["meshlint"]["files"])
    for ending in (*SCRIPTS, ".py", ".yaml", ".yml", ".toml"):
        assert wanted.search(f"jobs/run{ending}"), ending
    assert not wanted.search("notes.md")
    assert hooks["meshlint-diff"]["always_run"] is True


def test_a_job_script_is_judged_and_so_is_a_deletion(scratch: Path, home: Path) -> None:
    git(scratch, "reset", "-q", "--hard", "HEAD")
    git(scratch, "rm", "-q", "run.sh")
    (scratch / "job.slurm").write_text(WRONG)
    git(scratch, "add", ".")
    done = hooks(scratch, home)
    assert done.stdout.count("job.slurm:9:19: error HCP001") == 2, done.stdout + done.stderr
    git(scratch, "rm", "-q", "-f", "job.slurm")
    done = hooks(scratch, home, skip="meshlint")
    assert "(staged change)" in done.stdout and "Passed" in done.stdout.splitlines()[-1]
    git(scratch, "reset", "-q", "--hard", "HEAD")


def test_words_alone_pass_in_silence(scratch: Path, home: Path) -> None:
    git(scratch, "checkout", "-q", "HEAD", "--", ".")
    (scratch / "notes.md").write_text("words\n")
    git(scratch, "add", ".")
    done = hooks(scratch, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "HCP" not in done.stdout + done.stderr


def test_excludes_hold_for_the_files_that_are_given(scratch: Path, home: Path) -> None:
    (scratch / "old").mkdir(exist_ok=True)
    (scratch / "old" / "run.sh").write_text(WRONG)
    (scratch / "meshlint.toml").write_text('exclude = ["old/"]\n')
    git(scratch, "add", ".")
    done = hooks(scratch, home, "--all-files")
    assert done.returncode == 0, done.stdout + done.stderr
