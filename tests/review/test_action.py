"""action.yml, run as a runner runs a composite action: each step by its own shell, with the files that GitHub gives."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.load((ROOT / "action.yml").read_text("utf-8"), yaml.BaseLoader)
RIGHT = (ROOT / "fixtures" / "HCP001" / "good" / "slime.sh").read_text()
WRONG = (ROOT / "fixtures" / "HCP001" / "bad" / "slime.sh").read_text()
SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
"""What a runner makes of `shell: bash`."""


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@dataclass
class Runner:
    """A job's folders and files, and what the action was given."""

    source: Path
    work: Path
    temp: Path
    given: Mapping[str, str] = field(default_factory=dict)
    event: Mapping[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    said: str = ""

    def run(self, *names: str) -> int:
        """Run the steps, or those of the given names, up to the first that fails; give its exit status."""
        for step in ACTION["runs"]["steps"]:
            if names and step["name"] not in names:
                continue
            status = self._step(step)
            if status:
                return status
        return 0

    @property
    def summary(self) -> str:
        return (self.temp / "summary").read_text("utf-8")

    def output(self, name: str) -> str:
        return self._filled(ACTION["outputs"][name]["value"])

    def _step(self, step: dict[str, Any]) -> int:
        assert step["shell"] == "bash"
        files = {name: self.temp / name.lower().removeprefix("github_") for name in ("GITHUB_OUTPUT", "GITHUB_ENV")}
        files["GITHUB_STEP_SUMMARY"] = self.temp / "summary"
        for file in files.values():
            file.touch()
        script = self.temp / "step.sh"
        script.write_text(step["run"], "utf-8")
        own = {key: self._filled(text) for key, text in step.get("env", {}).items()}
        fixed = {"RUNNER_TEMP": self.temp, "GITHUB_WORKSPACE": self.work, "GITHUB_ACTIONS": "true", **files}
        environment = {**os.environ, **{key: str(value) for key, value in fixed.items()}, **own}
        done = subprocess.run(
            [*SHELL, str(script)], cwd=self.work, env=environment, capture_output=True, text=True, check=False
        )
        self.said += done.stdout + done.stderr
        rows = files["GITHUB_OUTPUT"].read_text("utf-8").splitlines()
        self.outputs |= {f"{step.get('id', '')}.{row.partition('=')[0]}": row.partition("=")[2] for row in rows}
        return done.returncode

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: self._value(match[1]), text)

    def _value(self, name: str) -> str:
        if name == "github.action_path":
            return str(self.source)
        if name.startswith("github.event."):
            return self.event.get(name, "")
        if name.startswith("inputs."):
            key = name.removeprefix("inputs.")
            return self.given.get(key, self._filled(ACTION["inputs"][key].get("default", "")))
        step, output = re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", name).groups()  # type: ignore[union-attr]
        return self.outputs[f"{step}.{output}"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give the source of the action and the runner's folder, into which its first step has installed meshlint."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    source, temp = tmp_path_factory.mktemp("action"), tmp_path_factory.mktemp("runner")
    for name in git(ROOT, "ls-files", "-z", "analyzer", "rules", "pyproject.toml", "README.md").split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("venv", "ensurepip", "logging", "pip", "meshlint"):
        (checkout / f"{name}.py").write_text("raise SystemExit('code of the checkout was run')\n")
    runner = Runner(source, checkout, temp)
    assert runner.run("Install meshlint") == 0, runner.said
    return source, temp


@pytest.fixture
def runner(installed: tuple[Path, Path], tmp_path: Path) -> Runner:
    """Give a job in a checkout whose base commit is right; the runner's own files are new."""
    source, temp = installed
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    (work / "old.sh").write_text(WRONG)
    (work / "run.sh").write_text(RIGHT)
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    own = tmp_path / "temp"
    own.mkdir()
    (own / "meshlint").symlink_to(temp / "meshlint")
    base = git(work, "rev-parse", "HEAD").strip()
    return Runner(source, work, own, event={"github.event.pull_request.base.sha": base})


def changed(runner: Runner, text: str) -> None:
    (runner.work / "run.sh").write_text(text)
    git(runner.work, "commit", "-q", "-a", "-m", "change")


def test_only_the_change_of_a_pull_request_is_told(runner: Runner) -> None:
    changed(runner, WRONG)
    assert runner.run("Check") == 1
    assert runner.output("status") == "1"
    assert runner.said.count("::error ") == 1
    assert "::error file=run.sh,line=9," in runner.said
    assert "HCP001" in runner.summary


def test_a_right_change_passes(runner: Runner) -> None:
    changed(runner, RIGHT + "# more\n")
    assert (runner.run("Check"), runner.output("status")) == (0, "0")
    assert "::error" not in runner.said


def test_without_a_base_everything_is_told(runner: Runner) -> None:
    runner.event = {}
    assert runner.run("Check") == 1
    assert "::error file=old.sh,line=9," in runner.said


def test_options_and_paths_are_taken_a_line_each(runner: Runner) -> None:
    changed(runner, WRONG)
    (runner.work / "-v odd $(touch pwned)").mkdir()
    (runner.work / "-v odd $(touch pwned)" / "job.sh").write_text(WRONG)
    runner.given = {
        "base": "",
        "paths": "-v odd $(touch pwned)\nrun.sh\n",
        "options": "--ignore=CTX001\n--fail-level=warning",
        "sarif": "found.sarif",
    }
    assert runner.run("Check") == 1
    log = json.loads((runner.work / "found.sarif").read_text("utf-8"))
    places = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in log["runs"][0]["results"]]
    assert sorted(places) == ["-v%20odd%20$(touch%20pwned)/job.sh", "run.sh"]
    assert not (runner.work / "pwned").exists()


def test_a_wrong_option_is_no_finding(runner: Runner) -> None:
    runner.given = {"options": "--no-such-option"}
    assert (runner.run("Check"), runner.output("status")) == (2, "2")


def test_every_input_is_used_and_no_script_holds_an_expression() -> None:
    steps = ACTION["runs"]["steps"]
    text = json.dumps([step.get("env", {}) for step in steps])
    assert {name for name in ACTION["inputs"] if f"inputs.{name} " in text} == set(ACTION["inputs"])
    assert not any("${{" in step["run"] for step in steps)
