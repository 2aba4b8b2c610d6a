"""Suppressions: where they hold, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import CommandLine
from meshlint.sources.comments import commented
from meshlint.sources.tree import Text

CP, COMM, SIZES = "cp: 4\n", "comm: a2a+p2p\n", "sizes: [3, 2]\n"
NOTE = "# meshlint: ignore[HCP002] -- on purpose"


def findings(out: str) -> list[dict[str, Any]]:
    return list(json.loads(out)["findings"])


@pytest.mark.parametrize(
    "text",
    [
        f"{CP}{COMM}sizes: [3, 2]  {NOTE}\n",
        f"{CP}{COMM}{NOTE}\n{SIZES}",
        f"{CP}{COMM}{NOTE}\n# another word\n{SIZES}",
        f"cp: 4  {NOTE}\n{COMM}{SIZES}",
        f"{NOTE.replace('ignore', 'file-ignore')}\n\n{CP}{COMM}{SIZES}",
        f"{CP}{COMM}sizes: [3, 2]  # why # meshlint: ignore[HCP001, HCP002] -- two\n",
        f"{CP}{COMM}sizes: [3,  # inside\n  2]  {NOTE}\n",
    ],
)
def test_a_suppression_holds(meshlint: CommandLine, wrong_product: Path, text: str) -> None:
    (wrong_product / "job.toy.yaml").write_text(text)
    run = meshlint("check", "--format", "json")
    assert [f["suppressed"] for f in findings(run.out) if f["code"] == "HCP002"] in (["on purpose"], ["two"])
    assert run.status == 0
    assert "HCP002 sizes" not in meshlint("check").out


@pytest.mark.parametrize(
    "text",
    [
        f"{NOTE}\n{CP}{COMM}{SIZES}".replace("cp: 4", "\ncp: 4"),
        f"{CP}{NOTE}\n\n{COMM}{SIZES}",
        f"{CP}{COMM}{SIZES}{NOTE}\n",
        f'{CP}{COMM}{SIZES}other: "{NOTE}"\n'.replace("other", "comm2"),
        f"{CP}{COMM}sizes: [3, 2]  {NOTE.replace('HCP002', 'HCP001')}\n",
    ],
)
def test_elsewhere_it_does_not(meshlint: CommandLine, wrong_product: Path, text: str) -> None:
    (wrong_product / "job.toy.yaml").write_text(text)
    assert meshlint("check").status == 1


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("# meshlint: ignore", "must read"),
        ("# meshlint: ignore HCP002 -- reason", "must read"),
        ("# meshlint: ignore[HCP002] reason", "must read"),
        ("# meshlint: ignore[HCP002]x -- reason", "must read"),
        ("# meshlint: skip[HCP002] -- reason", "must read"),
        ("# meshlint: ignore[HCP02] -- reason", "did you mean `HCP002`?"),
        ("# meshlint: ignore[PAR02] -- reason", "did you mean `PAR002`?"),
        ("# meshlint: ignore[HCP] -- reason", "a comment takes exact codes, such as HCP001, and not `HCP`."),
        ("# meshlint: ignore[hcp002] -- reason", "a comment takes exact codes, such as HCP002, and not `hcp002`."),
        ("# meshlint: ignore[HCP0022] -- reason", "there is no rule `HCP0022`; did you mean `HCP002`?"),
        ("# meshlint: ignore[] -- reason", "names no rule"),
        ("# meshlint: ignore[HCP002]", "a reason must be given"),
    ],
)
def test_a_bad_one_suppresses_nothing_and_is_told(
    meshlint: CommandLine, wrong_product: Path, comment: str, told: str
) -> None:
    (wrong_product / "job.toy.yaml").write_text(f"{CP}{COMM}sizes: [3, 2]  {comment}\n")
    found = findings(meshlint("check", "--format", "json").out)
    assert [f["code"] for f in found] == ["HCP002", "MSH002"]
    assert told in found[1]["message"]


def test_no_reason_is_needed_below_an_error(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").write_text("cp: 2\nsizes: [2, 1]  # meshlint: ignore[HCP007]\n")
    found = findings(meshlint("check", "--format", "json").out)
    assert [(f["code"], f["suppressed"]) for f in found] == [("HCP007", "no reason given")]


def test_one_that_does_nothing_is_told_only_where_that_is_sure(meshlint: CommandLine, wrong_product: Path) -> None:
    job = wrong_product / "job.toy.yaml"
    job.write_text(f"{CP}comm: a2a+p2p\nsizes: [2, 2]  {NOTE}\n")

    def codes(*words: str) -> list[str]:
        return [f["code"] for f in findings(meshlint("check", "--format", "json", *words).out)]

    assert codes() == ["MSH001"]
    assert codes("job.toy.yaml") == [], "other files may use it"
    assert codes("--select", "HCP,MSH") == []
    assert codes("--ignore", "CTX") == []
    job.write_text(f"cp: $CP\ncomm: a2a+p2p\nsizes: [2, 2]  {NOTE}\n")
    assert codes() == [], "the rule could not be judged"


def test_a_suppression_at_one_launch_leaves_the_others(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "job.toy.yaml").write_text(f"{COMM}{SIZES}")
    (wrong_product / "a.toy.yaml").write_text(f"base: job.toy.yaml\ncp: 4  {NOTE}\n")
    (wrong_product / "b.toy.yaml").write_text("base: job.toy.yaml\ncp: 4\n")
    found = [f for f in findings(meshlint("check", "--format", "json").out) if f["code"] == "HCP002"]
    launches = {f["suppressed"]: [launch["identity"] for launch in f["launches"]] for f in found}
    assert launches == {None: ["b.toy.yaml"], "on purpose": ["a.toy.yaml"]}


def comments(name: str, text: str) -> list[tuple[int, str]]:
    return [(c.line, c.text) for c in commented(Text(name, Path(name), text)).comments]


def test_comments_of_each_language_are_found_by_its_own_tokens() -> None:
    yaml = 'a: "# no"\nb: |\n  # no\n  text\nc: x#no\nd: [1, # yes\n  2] # too\n'
    assert comments("a.yaml", yaml) == [(6, "# yes"), (7, "# too")]
    python = 'a = "# no"  # yes\n"""\n# no\n"""\n'
    assert comments("a.py", python) == [(1, "# yes")]
    toml = "a = \"# no\"  # yes\nb = '''\n# no\n'''  # too\nc = \"\\\"# no\"\n"
    assert comments("a.toml", toml) == [(1, "# yes"), (4, "# too")]
    shell = 'a="# no"  # yes\nb=(\n  --x 1  # too\n)\necho ${#b} a#b\ncat <<EOF\n# job\nEOF\n'
    assert comments("a.sh", shell) == [(1, "# yes"), (3, "# too"), (7, "# job")]


def test_statements_are_those_that_hold_a_line() -> None:
    shell = "A=(\n  --x 1\n  --y 2\n)\ntorchrun \\\n  --z 3 \\\n  run.py\n"
    found = commented(Text("a.sh", Path("a.sh"), shell))
    assert (found.statement(2), found.statement(6)) == ((1, 4), (5, 7))
    python = "def f(\n    a,\n):\n    x = g(\n        1,\n    )\n"
    found = commented(Text("a.py", Path("a.py"), python))
    assert (found.statement(2), found.statement(5)) == ((1, 3), (4, 6))
