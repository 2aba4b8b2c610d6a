"""The workflows of docs/changes.md do what the page says of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import HEAD, TOKEN, State, served

from conftest import CommandLine

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "changes.md").read_text("utf-8")
BLOCKS = [yaml.load(text, yaml.BaseLoader) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
WORKFLOWS = [block for block in BLOCKS if "jobs" in block]
WRONG = (ROOT / "fixtures" / "HCP001" / "bad" / "slime.sh").read_text()


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def uses(workflow: dict[str, Any], action: str) -> bool:
    return any(step.get("uses", "").startswith(action) for step in steps(workflow))


def test_nothing_with_a_token_of_the_base_has_the_code() -> None:
    after = [workflow for workflow in WORKFLOWS if workflow["on"] != "pull_request"]
    assert [list(workflow["on"]) for workflow in after] == [["workflow_run"]]
    assert not any(uses(workflow, "actions/checkout") for workflow in after)


def test_no_script_holds_an_expression() -> None:
    scripts = [step["run"] for workflow in WORKFLOWS for step in steps(workflow) if "run" in step]
    assert len(scripts) > 2
    assert not any("${{" in script for script in scripts)


def test_the_second_workflow_waits_for_the_first() -> None:
    (second,) = (workflow for workflow in WORKFLOWS if "workflow_run" in workflow["on"])
    assert second["on"]["workflow_run"]["workflows"] == [w["name"] for w in WORKFLOWS if uses(w, "actions/upload")]


@pytest.mark.parametrize(("number", "posted"), [("7", 1), ("", 0)])
def test_the_second_workflow_posts_what_the_first_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meshlint: CommandLine, number: str, posted: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(WRONG)
    (tmp_path / "found").mkdir()
    meshlint("check", "--output", "json=found/meshlint.json")
    programs = tmp_path / "bin"
    programs.mkdir()
    write_program(
        programs / "gh",
        f'test "$4 $6 $8" = \'repos/own/name/pulls state=open head=ann:$(false)\' || exit 9; echo "{number}"',
    )
    write_program(programs / "meshlint", f'exec "{sys.executable}" -m meshlint.cli.main "$@"')
    script = next(
        step["run"]
        for w in WORKFLOWS
        if "workflow_run" in w["on"]
        for step in steps(w)
        if "gh api" in step.get("run", "")
    )
    diff = f"--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1,{len(WRONG.splitlines())} @@\n"
    diff += "".join(f"+{line}\n" for line in WRONG.splitlines())
    with served(State(diff=diff, lines={"run.sh": set(range(1, 100))})) as state:
        known = {"GITHUB_API_URL": state.address, "GITHUB_REPOSITORY": "own/name", "RUNNER_TEMP": str(tmp_path)}
        event = {"GITHUB_TOKEN": TOKEN, "OWNER": "ann", "BRANCH": "$(false)", "COMMIT": HEAD, "no_proxy": "127.0.0.1"}
        path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-e", "-c", script], env={**os.environ, **known, **event, **path}, check=False)
    assert done.returncode == 0
    assert len(state.inline) == posted


def write_program(file: Path, line: str) -> None:
    file.write_text(f"#!/bin/bash\n{line}\n")
    file.chmod(0o755)
