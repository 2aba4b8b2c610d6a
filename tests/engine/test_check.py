"""Runs: exit statuses, merging, problems, selection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import CommandLine


def findings(out: str) -> list[dict[str, Any]]:
    return list(json.loads(out)["findings"])


def test_a_fault_is_found_at_its_line(meshlint: CommandLine, wrong_product: Path) -> None:
    run = meshlint("check", "--format", "json")
    assert run.status == 1
    (found,) = findings(run.out)
    assert (found["code"], found["path"], found["line"], found["column"]) == ("HCP002", "job.toy.yaml", 3, 8)
    assert [(r["line"], r["message"]) for r in found["related"]] == [(1, "context_parallel_size = 4")]


def test_the_twin_is_silent(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").write_text("cp: 4\ncomm: a2a+p2p\nsizes: [2, 2]\n")
    run = meshlint("check", "--format", "json")
    assert (run.status, findings(run.out), run.err) == (0, [], "")


def test_one_cause_is_one_finding_that_lists_its_launches(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").rename(wrong_product / "base.toy.yaml")
    for name in ("a", "b", "c"):
        (wrong_product / f"{name}.toy.yaml").write_text("base: base.toy.yaml\n")
    (found,) = findings(meshlint("check", "--format", "json").out)
    assert found["path"] == "base.toy.yaml"
    assert [launch["identity"] for launch in found["launches"]] == ["a.toy.yaml", "b.toy.yaml", "c.toy.yaml"]


def test_a_changed_base_judges_every_launch_that_reads_it(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").rename(wrong_product / "base.toy.yaml")
    (wrong_product / "a.toy.yaml").write_text("base: base.toy.yaml\n")
    (found,) = findings(meshlint("check", "--format", "json", "base.toy.yaml").out)
    assert [launch["identity"] for launch in found["launches"]] == ["a.toy.yaml"]


def test_an_unknown_value_is_never_a_finding_and_is_told(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").write_text("cp: $CP\ncomm: a2a+p2p\nsizes: [3, 2]\n")
    run = meshlint("check", "--format", "json")
    assert (run.status, findings(run.out)) == (0, [])
    (coverage,) = json.loads(run.out)["coverage"]
    stop = next(stop for stop in coverage["not_judged"] if stop["code"] == "HCP002")
    assert stop == {"code": "HCP002", "field": "context_parallel_size", "reason": "$CP is not set anywhere"}
    text = meshlint("check").out
    assert "$CP is not set anywhere" in text


def test_broken_files_are_told_and_lose_nothing_else(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "broken.toy.yaml").write_text("a: [1\n")
    found = findings(meshlint("check", "--format", "json").out)
    assert [(f["code"], f["severity"]) for f in found] == [("MSH003", "warning"), ("HCP002", "error")]


def test_a_broken_file_that_is_named_is_an_error(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "broken.toy.yaml").write_text("a: [1\n")
    run = meshlint("check", "--format", "json", "broken.toy.yaml")
    assert (run.status, [(f["code"], f["severity"]) for f in findings(run.out)]) == (1, [("MSH003", "error")])


def test_no_launch_is_clean_with_one_note(meshlint: CommandLine, toy: Path) -> None:
    (toy / "notes.txt").write_text("nothing")
    run = meshlint("check")
    assert (run.status, run.out) == (0, "")
    assert run.err.count("\n") == 1
    assert meshlint("check", "--require-launch").status == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("check", "nowhere"), "no file or folder `nowhere`"),
        (("check", "--select", "HCP022"), "did you mean `HCP002`?"),
        (("check", "--pin", "megatron-core=new"), "neither a version nor a specifier set"),
        (("check", "--pin", "megatron-core"), "NAME=VALUE"),
        (("check", "--output", "xml=a"), "FORMAT=FILE"),
        (("check", "--config", "nowhere.toml"), "no settings file"),
        (("chekc",), "did you mean `check`?"),
        (("explain", "HCP0O2"), "did you mean `HCP002`?"),
        (("config", "nowhere"), "no file or folder `nowhere`"),
        (("config", "--why", "MSH003"), "does not judge configs"),
    ],
)
def test_what_cannot_be_asked_is_status_2(meshlint: CommandLine, toy: Path, words: tuple[str, ...], told: str) -> None:
    run = meshlint(*words)
    assert run.status == 2
    assert told in run.err


def test_fail_level_decides_the_status(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").write_text("cp: 2\nsizes: [2, 1]\n")
    found = findings(meshlint("check", "--format", "json").out)
    assert {f["severity"] for f in found} == {"warning"}
    assert meshlint("check").status == 0
    assert meshlint("check", "--fail-level", "warning").status == 1


def test_selection(meshlint: CommandLine, wrong_product: Path) -> None:
    assert meshlint("check", "--select", "CTX,MSH").status == 0
    assert meshlint("check", "--select", "HCP").status == 1
    assert meshlint("check", "--ignore", "HCP002").status == 0
    assert meshlint("check", "--select", "sizes-product").status == 1


def test_an_explicit_selection_that_the_settings_cancel_is_told(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "meshlint.toml").write_text('ignore = ["HCP"]\n')
    run = meshlint("check", "--select", "HCP")
    assert "was selected, but" in run.err
    assert meshlint("check", "--select", "HCP002").status == 1, "a code goes before a family"


def test_excludes_hold_for_named_paths(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "meshlint.toml").write_text('exclude = ["job.*"]\n')
    assert meshlint("check", "job.toy.yaml").status == 0
    assert meshlint("check", "--isolated", "job.toy.yaml").status == 1
    assert meshlint("check", "--isolated", "--exclude", "*.yaml", ".").status == 0


def test_per_file_ignores(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "meshlint.toml").write_text('[per-file-ignores]\n"job*" = ["HCP002"]\n')
    assert meshlint("check").status == 0


def test_an_idle_entry_of_per_file_ignores_is_told(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "meshlint.toml").write_text('[per-file-ignores]\n"job*" = ["HCP002"]\n"gone/*" = ["HCP001"]\n')
    said = "meshlint.toml:3: `per-file-ignores` leaves out nothing of HCP001 in gone/*\n"
    run = meshlint("check")
    assert (run.status, run.err.count("leaves out nothing"), run.err.endswith(said)) == (0, 1, True)
    assert "leaves out nothing" not in meshlint("check", "job.toy.yaml").err
    assert "leaves out nothing" not in meshlint("check", "--ignore", "HCP001").err


def test_versions_that_disagree_are_a_warning_that_names_them(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").write_text("cp: 4\ncomm: a2a+p2p\nsizes: [2, 2]\n")
    ranged = meshlint("check", "--isolated", "--pin", "transformer-engine=>=1.11", "--format", "json")
    (found,) = findings(ranged.out)
    assert (found["code"], found["severity"]) == ("HCP005", "warning")
    assert "This holds on transformer-engine 1.11.0" in str(found["message"])
    pinned = meshlint("check", "--isolated", "--pin", "transformer-engine=1.11.0", "--format", "json")
    (found,) = findings(pinned.out)
    assert (found["severity"], found["versions"]) == ("error", {"transformer-engine": "1.11.0"})


def test_paths_count_from_the_root_of_the_checkout(
    meshlint: CommandLine, wrong_product: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=wrong_product, check=True)
    folder = wrong_product / "deep"
    folder.mkdir()
    (wrong_product / "job.toy.yaml").rename(folder / "job.toy.yaml")
    (folder / ".gitignore").write_text("ignored*\n")
    (folder / "ignored.toy.yaml").write_text("cp: 4\ncomm: a2a+p2p\nsizes: [3, 2]\n")
    monkeypatch.chdir(folder)
    assert [f["path"] for f in findings(meshlint("check", "--format", "json").out)] == ["deep/job.toy.yaml"]
    named = findings(meshlint("check", "--format", "json", "ignored.toy.yaml").out)
    assert [f["path"] for f in named] == ["deep/ignored.toy.yaml"]


def test_gitignore_counts_without_git_too(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / ".gitignore").write_text("*.toy.yaml\n!kept.toy.yaml\n")
    (wrong_product / "kept.toy.yaml").write_text("cp: 4\ncomm: a2a+p2p\nsizes: [3, 2]\n")
    assert [f["path"] for f in findings(meshlint("check", "--format", "json").out)] == ["kept.toy.yaml"]


def test_links_are_never_followed_round_or_out(meshlint: CommandLine, wrong_product: Path, tmp_path: Path) -> None:
    (wrong_product / "loop").symlink_to(wrong_product, target_is_directory=True)
    (wrong_product / "self.toy.yaml").symlink_to("self.toy.yaml")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.toy.yaml"
    outside.write_text("cp: 4\ncomm: a2a+p2p\nsizes: [3, 2]\n")
    (wrong_product / "out.toy.yaml").symlink_to(outside)
    found = findings(meshlint("check", "--format", "json").out)
    assert (found[0]["code"], found[0]["path"]) == ("HCP002", "job.toy.yaml")
    assert all(f["code"] == "MSH003" for f in found[1:])
    assert not any(f["code"] == "HCP002" and "outside" in str(f["path"]) for f in found)


def test_fingerprints_hold_no_line_numbers(meshlint: CommandLine, wrong_product: Path) -> None:
    before = findings(meshlint("check", "--format", "json").out)[0]
    job = wrong_product / "job.toy.yaml"
    job.write_text("# a comment\n\n" + job.read_text())
    after = findings(meshlint("check", "--format", "json").out)[0]
    assert (before["line"], after["line"]) == (3, 5)
    assert before["fingerprint"] == after["fingerprint"]


def test_a_failing_rule_is_status_3_and_loses_nothing(
    meshlint: CommandLine, wrong_product: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from meshlint_rules.hcp.two_levels.rule import RULE

    def fail(self: object, config: object) -> None:
        raise KeyError("no")

    monkeypatch.setattr(RULE, "check", fail)
    monkeypatch.delenv("MESHLINT_DEBUG", raising=False)
    run = meshlint("check")
    assert run.status == 3
    assert "HCP002" in run.out
    assert "HCP003 failed on job.toy.yaml (KeyError)" in run.err
    assert "Traceback" not in run.err


def test_equal_input_gives_equal_bytes(wrong_product: Path) -> None:
    for name in "abcdef":
        (wrong_product / f"{name}.toy.yaml").write_text("base: job.toy.yaml\n")
    script = (
        "import sys, conftest; from meshlint.engine import gather;"
        "gather.surfaces = lambda *given: iter([conftest.Toy()]); from meshlint.cli.main import main; main()"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script, "check", "--format", "json"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            check=False,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].returncode == 1, runs[0].stderr.decode()
    assert runs[0].stdout == runs[1].stdout


def test_code_that_was_judged_is_counted_and_code_that_is_too_large_is_told(
    tmp_path: Path, meshlint: CommandLine
) -> None:
    (tmp_path / "clean.py").write_text("import torch.distributed as dist\ndist.barrier()\n")
    run = meshlint("check", "--isolated", "--no-cache", "--preview", tmp_path)
    told = "The code of 1 Python file was judged (1 with collectives); no launch is in scope."
    assert (run.out, run.err) == (f"No findings.\n{told}\n", "")
    (tmp_path / "large.py").write_text("# \n" * (8 * 1024 * 1024 // 3 + 1))
    run = meshlint("check", "--isolated", "--no-cache", "--preview", tmp_path)
    assert "MSH003" in run.out and "it has 8,388,609 bytes" in run.out
    assert f"{told}\n" in run.out
