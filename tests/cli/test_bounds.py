"""Bounds of the shell reader through the command line: a launch is judged, or MSH003 says where reading ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import CommandLine

LAUNCH = (
    "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
    "--context-parallel-size 4 --cp-comm-type a2a+p2p\n"
)


def found(meshlint: CommandLine, folder: Path) -> tuple[list[dict[str, Any]], int]:
    """Give what MSH003 says, and how many launches have HCP001."""
    report = json.loads(meshlint("check", folder, "--format", "json", "--no-cache").out)
    told = [f for f in report["findings"] if f["code"] == "MSH003"]
    return told, sum(len(f["launches"]) for f in report["findings"] if f["code"] == "HCP001")


def ifs(count: int) -> str:
    return "".join(f"if [ $X{i} = 1 ]; then A{i}=1; fi\n" for i in range(count))


LIMITED = {
    "arms": ("case $X in\n" + "".join(f"  a{i}) T{i}=1;;\n" for i in range(1000)) + "esac\n", "steps"),
    "ifs": (ifs(5000), "steps"),
    "ifs in a function": (f"f() {{\n{ifs(5000)}\n{LAUNCH}}}\nf\n", "steps"),
    "text that doubles": ("A=aa\n" + "A=$A$A\n" * 64, "`A` grows longer"),
    "list that doubles": ("A=(a b)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40, "`A` grows longer"),
    "braces": ("{ " * 60 + "true" + "; }" * 60 + "\n", "40 levels"),
    "parentheses": ("( " * 60 + "true" + " )" * 60 + "\n", "40 levels"),
    "functions": ("".join(f"f{i}() {{ f{i + 1}; }}\n" for i in range(50)) + "f0\n", "functions call each other"),
    "one text in another": ('X=\'eval "$X"\'\neval "$X"\n', "eval runs inside eval"),
    "loops": ("for a in 1 2 3 4 5 6 7 8 9; do\n" * 8 + "A=$A$a\n" + "done\n" * 8, "steps"),
}


@pytest.mark.parametrize(("text", "limit"), LIMITED.values(), ids=list(LIMITED))
def test_a_launch_behind_a_bound_is_judged_and_the_bound_is_told(
    meshlint: CommandLine, tmp_path: Path, text: str, limit: str
) -> None:
    (tmp_path / "train.sh").write_text(text + LAUNCH)
    told, faults = found(meshlint, tmp_path)
    assert faults >= 1
    assert limit in " ".join(f["message"] for f in told)
    assert {f["path"] for f in told} == {"train.sh"}
    assert all(1 <= f["line"] <= text.count("\n") for f in told)


UNREAD = {
    "braces": ("{ " * 60 + LAUNCH.strip() + "; }" * 60 + "\n", "40 levels"),
    "parentheses": ("( " * 60 + LAUNCH.strip() + " )" * 60 + "\n", "40 levels"),
    "functions": (
        "".join(f"f{i}() {{ f{i + 1}; }}\n" for i in range(50)) + f"f50() {{\n{LAUNCH}}}\nf0\n",
        "functions call each other",
    ),
    "a long script": ("echo " + "a " * 600_000 + "\n" + LAUNCH, "characters"),
}


@pytest.mark.parametrize(("text", "limit"), UNREAD.values(), ids=list(UNREAD))
def test_a_launch_that_cannot_be_reached_is_not_passed_over(
    meshlint: CommandLine, tmp_path: Path, text: str, limit: str
) -> None:
    (tmp_path / "train.sh").write_text(text)
    told, faults = found(meshlint, tmp_path)
    assert not faults
    assert limit in told[0]["message"]


def test_what_a_statement_behind_the_bound_sets_is_unknown(meshlint: CommandLine, tmp_path: Path) -> None:
    text = f"CP=2\n{ifs(5000)}if [ $Y = 1 ]; then CP=4; fi\n{LAUNCH.replace('size 4 --cp', 'size $CP --cp')}"
    (tmp_path / "train.sh").write_text(text)
    report = json.loads(meshlint("config", "--json", tmp_path / "train.sh").out)
    field = report["launches"][0]["roles"][0]["fields"]["context_parallel_size"]
    assert field["state"] == "unknown"
    assert "more steps" in field["reason"]


def test_launches_beyond_the_bound_are_counted(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text(LAUNCH * 1000)
    told, faults = found(meshlint, tmp_path)
    assert faults == 200
    assert [(f["line"], "800 more" in f["message"]) for f in told] == [(201, True)]
    assert told[0]["message"].startswith("Not all of this is judged: meshlint judges the first 200 launches")
    text = meshlint("check", tmp_path, "--no-cache").out
    assert "rules judged in 200 launches; " in text
    assert "MSH003 tells what was not read" in text


@pytest.mark.parametrize(
    "start",
    [
        "while true; do",
        "until false; do",
        "for ((;;)); do",
        "for ((i = 0; i < 100000; i++)); do",
        "for i in $(seq 1000)\ndo",
    ],
)
def test_a_launch_in_an_endless_loop_is_one_launch(meshlint: CommandLine, tmp_path: Path, start: str) -> None:
    (tmp_path / "train.sh").write_text(f"{start}\n{LAUNCH}done\n")
    assert found(meshlint, tmp_path)[1] == 1


def test_an_endless_loop_that_is_left_by_count_is_followed(meshlint: CommandLine, tmp_path: Path) -> None:
    body = LAUNCH.replace("size 4 --cp", "size $CP --cp")
    text = f"CP=1\nwhile true; do\n  CP=$((CP * 2))\n  {body}  if [ $CP -ge 8 ]; then break; fi\ndone\n"
    (tmp_path / "train.sh").write_text(text)
    assert found(meshlint, tmp_path) == ([], 3)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-32-le", "utf-16-be", "utf-32-be"])
def test_encodings_are_read_or_told(meshlint: CommandLine, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "train.sh").write_bytes(LAUNCH.encode(encoding))
    told, faults = found(meshlint, tmp_path)
    assert bool(told) is not bool(faults)


def test_a_ring_of_scripts(meshlint: CommandLine, tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"s{number}.sh").write_text(f"source s{(number + 1) % 25}.sh\n")
    (tmp_path / "train.sh").write_text(f"source s0.sh\n{LAUNCH}")
    told, faults = found(meshlint, tmp_path)
    assert faults == 1
    assert "16 deep" in told[0]["message"]


def test_a_link_to_nothing_is_blamed_itself(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "train.sh").symlink_to("gone.sh")
    told, _ = found(meshlint, tmp_path)
    assert [f["path"] for f in told] == ["train.sh"]
    assert "it is a link to `gone.sh`, and there is no such file" in told[0]["message"]


def test_bases_in_a_ring_are_told(meshlint: CommandLine, tmp_path: Path) -> None:
    policy = "policy:\n  megatron_cfg:\n    enabled: true\n    context_parallel_size: 2\n"
    (tmp_path / "a.yaml").write_text(f"defaults: b.yaml\n{policy}")
    (tmp_path / "b.yaml").write_text(f"defaults: a.yaml\n{policy}")
    told, _ = found(meshlint, tmp_path)
    assert {f["path"] for f in told} == {"a.yaml", "b.yaml"}


def test_a_recipe_in_another_encoding_is_told(meshlint: CommandLine, tmp_path: Path) -> None:
    text = "from megatron.bridge.training.pretrain import pretrain\n# caf\u00e9\npretrain(cfg, step)\n"
    (tmp_path / "train.py").write_bytes(text.encode("latin-1"))
    told, _ = found(meshlint, tmp_path)
    assert [(f["path"], f["line"]) for f in told] == [("train.py", 2)]
    assert "not UTF-8" in told[0]["message"]


def test_a_long_list_of_requirements_is_read_to_its_end(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("unheard-of==1.0\n" * 20_000 + "transformer_engine[pytorch]==2.18.0\n")
    (tmp_path / "train.sh").write_text(LAUNCH)
    shown = meshlint("config", tmp_path / "train.sh").out
    assert "requirements.txt:20001" in shown
