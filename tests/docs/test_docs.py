"""The docs: generated pages are fresh, links lead somewhere, and what the pages say can be asked."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from conftest import CommandLine

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_fresh() -> None:
    assert generator().stale() == [], "run python docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    local = [link.split("#")[0] for link in _LINK.findall(text) if not link.startswith(("http", "#", "mailto:"))]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_rule_has_a_page_that_explain_prints(meshlint: CommandLine) -> None:
    for rule in json.loads(meshlint("rules", "--json").out):
        page = (ROOT / "docs" / "rules" / f"{rule['code']}.md").read_text("utf-8")
        run = meshlint("explain", rule["code"])
        assert run.status == 0
        assert run.out in page
        assert "## What it does" in run.out


def test_every_setting_is_in_the_page() -> None:
    from meshlint.settings.read import KEYS

    page = (ROOT / "docs" / "settings-keys.md").read_text("utf-8")
    assert [key for key in KEYS if f"`{key}`" not in page] == []


def test_the_readme_shows_two_commands_to_set_up_and_its_findings_are_real(meshlint: CommandLine) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    setup = readme.split("## Set up")[1].split("## Use")[0]
    commands = re.findall(r"```bash\n(.*?)\n```", setup, re.DOTALL)
    assert len(commands) == 2
    path = re.search(r"meshlint check (\S+);", commands[0])
    assert path is not None
    files = ((path[1], "run.sh"), ("fixtures/COL001/bad/losses_of_one_replica.py", "report.py"))
    shown = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    for text, (file, name) in zip(shown, files, strict=True):
        out = meshlint("check", "--no-cache", "--isolated", ROOT / file).out
        told = " ".join(out.split()).replace(file, name)
        for part in text.strip().split("\n  "):
            assert " ".join(part.split()) in told


def test_a_page_has_one_section_of_versions_and_references(meshlint: CommandLine) -> None:
    for rule in json.loads(meshlint("rules", "--json").out):
        headings = [line for line in meshlint("explain", rule["code"]).out.splitlines() if line.startswith("## ")]
        assert len(set(headings)) == len(headings)
        assert sum("eferences" in line or "ersions" in line for line in headings) <= 1


@pytest.mark.parametrize("name", ["card-text", "diff-text"])
def test_the_page_on_launching_shows_what_is_printed(name: str) -> None:
    page = (ROOT / "docs" / "launching.md").read_text("utf-8")
    printed = (ROOT / "tests" / "golden" / f"{name}.txt").read_text("utf-8")
    start = printed.split("\n")[1][:12]
    shown = next(b for b in re.findall(r"```text\n(.*?)```", page, re.DOTALL) if b.startswith(start))
    lines = [line for line in shown.strip().split("\n") if "rules judged" not in line]
    assert lines and [line for line in lines if line not in printed] == []
