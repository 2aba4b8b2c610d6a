"""Where no launch is in scope, one note says how many files were looked at, and what was looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.config.registry import FRAMEWORKS, PATTERNS
from meshlint.words import plural


@pytest.mark.parametrize(
    ("files", "told"),
    [(0, "there is no file to look at"), (1, "in 1 file meshlint"), (2, "in 2 files meshlint")],
)
def test_the_note_counts_the_files(meshlint: CommandLine, tmp_path: Path, files: int, told: str) -> None:
    for number in range(files):
        (tmp_path / f"{number}.txt").write_text("nothing\n")
    run = meshlint("check", "--isolated", "--no-cache", tmp_path)
    assert run.status == 0
    assert run.err.startswith("meshlint: no launch is in scope: ")
    assert run.err.count("\n") == 1
    assert told in run.err


def test_the_note_names_every_kind_that_can_be_claimed(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n")
    for verb in ("check", "config"):
        err = meshlint(verb, "--isolated", tmp_path).err
        assert {p[1:] for p in PATTERNS["shell"] if p != "*.sub"} <= set(
            err.replace(",", " ").replace(")", " ").replace("(", " ").split()
        )
        assert all(word in err for word in ("YAML", "Python"))
        assert all(
            name.split("_")[0].lower() in err.lower() for name in FRAMEWORKS if name not in ("ms_swift", "nemo2")
        )


def test_one_rule_is_no_rules(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text('torchrun --nproc-per-node 8 pretrain_gpt.py --context-parallel-size "$CP"\n')
    words = ("check", "--isolated", "--no-cache", "--select", "HCP001", "--verbose", tmp_path / "run.sh")
    assert "of 1 rule judged" in meshlint(*words).out


def test_counts_and_their_nouns() -> None:
    assert [plural(n, "launch") for n in (0, 1, 2)] == ["0 launches", "1 launch", "2 launches"]
    assert plural(2, "info", "infos") == "2 infos"
    assert plural(1, "head") == "1 head"


def test_a_tree_of_code_alone_says_what_was_judged(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import torch.distributed as dist\n\n\ndef run(x):\n    dist.all_reduce(x)\n")
    (tmp_path / "two.py").write_text("import os\n")
    told = "The code of 2 Python files was judged (1 with collectives); no launch is in scope; of the rules, "
    for _ in range(2):  # the second run finds the report of the first one
        run = meshlint("check", "--isolated", tmp_path)
        assert run.status == 0 and run.err == ""
        assert run.out.startswith(f"No findings.\n{told}")
    run = meshlint("check", "--isolated", "--verbose", tmp_path)
    assert run.out.startswith(f"No findings.\n{told}")
    assert run.err.startswith("meshlint: no launch is in scope: in 2 files meshlint looked for ")
    assert meshlint("check", "--isolated", "--require-launch", tmp_path).status == 2
    for form in ("json", "sarif", "github", "concise"):
        run = meshlint("check", "--isolated", "--format", form, tmp_path)
        assert run.status == 0 and run.err == "" and "was judged" not in run.out
