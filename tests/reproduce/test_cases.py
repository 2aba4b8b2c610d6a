"""Every reproducer shows what it states: without torch here, and on gloo where a Python with torch is at hand."""

from __future__ import annotations

import ast
import builtins
import os
import py_compile
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from meshlint.engine.reproducers import reproducer_of
from meshlint.reproduce.case import Depth, Happens, Reproducer
from meshlint.reproduce.launch import CannotRun, Machine, python_with_torch
from meshlint.reproduce.run import Runner, _first, _unmet
from meshlint.reproduce.script import LINES, written
from meshlint.reproduce.verdict import text
from meshlint_rules import rules

FOUND = {rule.code: made for rule in rules() if (made := reproducer_of(rule)) is not None}
TORCH = os.environ.get("MESHLINT_TORCH_PYTHON", "")
"""A Python that has torch, where this one has none."""

needs_torch = pytest.mark.skipif(
    find_spec("torch") is None and not TORCH, reason="no torch here, and MESHLINT_TORCH_PYTHON names no Python with it"
)


def of(depth: Depth) -> list[Reproducer]:
    return [made for made in FOUND.values() if any(depth in case.depths and not case.needs for case in made.cases)]


def undefined(script: str) -> set[str]:
    """Give the names that a script reads and nowhere makes."""
    made, read = set(dir(builtins)) | {"__file__"}, set()
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
    return read - made - {"__name__"}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(python=TORCH) as made:
        yield made


def test_every_rule_of_code_and_launches_has_a_reproducer() -> None:
    without = ("MSH", "DIF", "TST")
    assert [rule.code for rule in rules() if rule.family() not in without and rule.code not in FOUND] == []
    assert [code for code, made in FOUND.items() if not made.cases] == []


@pytest.mark.parametrize("reproducer", FOUND.values(), ids=lambda made: made.code)
def test_what_has_no_case_without_torch_says_why(reproducer: Reproducer, runner: Runner) -> None:
    if Depth.SIMULATE in reproducer.depths():
        return
    verdict = runner.run(reproducer, Depth.SIMULATE)
    assert not verdict.shown
    assert reproducer.missing and reproducer.missing in verdict.why


@pytest.mark.parametrize("reproducer", of(Depth.SIMULATE), ids=lambda made: made.code)
def test_it_is_shown_without_torch(reproducer: Reproducer, runner: Runner) -> None:
    verdict = runner.run(reproducer, Depth.SIMULATE)
    assert verdict.shown, "\n".join(text(verdict, ""))
    for case in verdict.cases:
        failing, fixed = case.arms
        assert fixed.happened is Happens.OK
        assert failing.happened is case.case.failing.at(Depth.SIMULATE)


@needs_torch
@pytest.mark.parametrize("reproducer", of(Depth.CPU), ids=lambda made: made.code)
def test_it_is_shown_on_gloo(reproducer: Reproducer, runner: Runner) -> None:
    verdict = runner.run(reproducer, Depth.CPU)
    assert verdict.shown, "\n".join(text(verdict, ""))


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ("2.9.0+cu13", ""),
        ("2.20.2", "it shows on transformer_engine <2.10, and 2.20.2 is here"),
        ("", ""),
        ("a checkout", ""),
    ],
)
def test_a_case_runs_on_the_releases_that_it_speaks_of(there: str, why: str) -> None:
    (case,) = FOUND["PKD003"].cases
    machine = Machine("python", {"megatron.core": "0.19.2", "transformer_engine": there})
    assert _first([case], machine) == ([] if why else [case])
    if why:
        assert _unmet([case], machine) == why


@pytest.mark.parametrize("code", ["FRW002", "OVL001", "OVL002", "PAR012", "PKD009"])
def test_a_library_comes_before_what_was_extracted_of_it(code: str) -> None:
    bare, cases = Machine("python"), FOUND[code].cases
    all_there = Machine("python", dict.fromkeys({name for case in cases for name in case.needs}, ""))
    assert all(case.needs for case in _first([c for c in cases if Depth.GPU in c.depths], all_there))
    assert all("extracted" in case.runs for case in _first([c for c in cases if Depth.CPU in c.depths], bare))


@pytest.mark.parametrize("reproducer", FOUND.values(), ids=lambda made: made.code)
def test_every_case_can_be_written(reproducer: Reproducer, tmp_path: Path) -> None:
    for number, case in enumerate(reproducer.cases):
        script = written(case, reproducer.code)
        file = tmp_path / f"{number}.py"
        file.write_text(script, "utf-8")
        py_compile.compile(str(file), doraise=True)
        assert "meshlint" not in script
        assert undefined(script) == set()
        if "initialize_model_parallel(" in script:
            assert "dist.init_process_group(" in script
        assert script.count("\n") < (100 if case.runs.startswith("a stand-in") else LINES), case.name


@needs_torch
@pytest.mark.parametrize(("arm", "status", "said"), [("fixed", 0, "loss is [6.0]"), ("failing", 1, "in failing")])
def test_a_written_case_runs(arm: str, status: int, said: str, tmp_path: Path) -> None:
    file = tmp_path / "repro.py"
    text_of = written(FOUND["COL001"].cases[0], "COL001").replace("_later(30,", "_later(12,")
    file.write_text(text_of, "utf-8")
    torchrun = [python_with_torch(TORCH), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run = subprocess.run([*torchrun, str(file), arm], capture_output=True, text=True, timeout=300)
    assert run.returncode == status
    assert said in run.stdout + run.stderr
    assert "COL001: one rank's extra all_reduce on its group" in run.stdout
    assert ", gloo, 2 ranks" in run.stdout
    assert ("rank 1: ok" in run.stdout) == (status == 0)


def test_a_python_without_torch_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meshlint.reproduce.launch.find_spec", lambda name: None)
    with pytest.raises(CannotRun, match="extra `reproduce`"):
        python_with_torch()
