"""`meshlint diff`: what differs between two launches, or one at two revisions, and what that comes to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import CommandLine, git

PINS = ("--pin", "megatron-core=0.16.1", "--pin", "transformer-engine=2.10.0", "--pin", "torch=2.8.0")
FLAGS = (
    "--num-layers 16",
    "--hidden-size 1024",
    "--num-attention-heads 16",
    "--seq-length 4096",
    "--max-position-embeddings 4096",
    "--micro-batch-size 1",
    "--global-batch-size 128",
    "--tensor-model-parallel-size 2",
)


def script(*more: str, nodes: int = 1) -> str:
    lines = "\n".join(f"    {flag}" for flag in (*FLAGS, *more))
    launcher = f"torchrun --nnodes {nodes} --nproc-per-node 8"
    return f'#!/bin/bash\nARGS=(\n{lines}\n)\n{launcher} pretrain_gpt.py "${{ARGS[@]}}"\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("meshlint.config.installed.sys.prefix", "/nonexistent")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "meshlint.toml").write_text("")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def checkout(project: Path) -> Path:
    """Give a checkout with one launch, committed and tagged v1."""
    git(Path.cwd(), "init", "-q", "-b", "main")
    (project / "run.sh").write_text(script())
    git(Path.cwd(), "add", ".")
    git(Path.cwd(), "commit", "-q", "-m", "first")
    git(Path.cwd(), "tag", "v1")
    return project


def compared(meshlint: CommandLine, *words: str) -> dict[str, Any]:
    run = meshlint("diff", *PINS, "--format", "json", *words)
    assert run.status in (0, 1), run.err
    found: dict[str, Any] = json.loads(run.out)
    return found


def one(meshlint: CommandLine, *words: str) -> dict[str, Any]:
    (pair,) = compared(meshlint, *words)["pairs"]
    found: dict[str, Any] = pair
    return found


def changes(rows: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {row.get("name", row.get("what")): (row["before"], row["after"]) for row in rows}


def test_settings_that_differ_and_what_they_come_to(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script("--lr 1e-4"))
    Path("b.sh").write_text(
        script("--context-parallel-size 2", "--pipeline-model-parallel-size 2", "--lr 2e-4", nodes=2)
    )
    pair = one(meshlint, "a.sh", "b.sh")
    (role,) = pair["roles"]
    assert changes(pair["launch"]) == {"nodes": ("1", "2")}
    assert changes(role["fields"]) == {
        "pipeline_model_parallel_size": ("1", "2"),
        "context_parallel_size": ("1", "2"),
    }
    assert changes(pair["others"]) == {"lr": ("1e-4", "2e-4")}
    told = changes(role["meaning"])
    assert told["ranks"] == ("8", "16")
    assert told["cp groups"] == ("none", "8 of 2 (0,2)")
    assert told["layers"] == ("16 on one stage", "16 = 2 stages of 8")
    assert (told["dp"], told["micro-batches a step"]) == (("4", "2"), ("32", "64"))
    notes = {row["what"]: row["note"] for row in role["meaning"]}
    assert notes["pp groups"] == "CROSSES 2 nodes"


def test_micro_batches_double_where_dp_halves(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script())
    Path("b.sh").write_text(script("--context-parallel-size 2"))
    (role,) = one(meshlint, "a.sh", "b.sh")["roles"]
    told = changes(role["meaning"])
    assert (told["dp"], told["micro-batches a step"]) == (("4", "2"), ("32", "64"))


def test_groups_that_come_to_cross_nodes(meshlint: CommandLine) -> None:
    wide = script(nodes=2)
    Path("a.sh").write_text(wide)
    Path("b.sh").write_text(wide.replace("--nnodes 2 --nproc-per-node 8", "--nnodes 4 --nproc-per-node 4"))
    (role,) = one(meshlint, "a.sh", "b.sh")["roles"]
    assert [(row["what"], row["note"]) for row in role["meaning"]] == [("dp groups", "now CROSSES 4 nodes")]
    (role,) = one(meshlint, "b.sh", "a.sh")["roles"]
    assert [row["note"] for row in role["meaning"]] == ["now CROSSES 2 nodes"]


RECIPE = """\
from megatron.bridge.models import GPTModelProvider
from megatron.bridge.training.config import ConfigContainer, FinetuningDatasetConfig
from megatron.bridge.data.datasets.packed_sequence import PackedSequenceSpecs


def tiny_config():
    return ConfigContainer(
        model=GPTModelProvider(num_layers=8, num_attention_heads=8, context_parallel_size=CP, seq_length=4096),
        dataset=FinetuningDatasetConfig(seq_length=4096, packed_sequence_specs=PackedSequenceSpecs(
            packed_sequence_size=4096, pad_seq_to_mult=1)),
    )
"""


def test_a_pad_that_stays_where_cp_grows(meshlint: CommandLine) -> None:
    Path("a.py").write_text(RECIPE.replace("CP", "1"))
    Path("b.py").write_text(RECIPE.replace("CP", "4"))
    pair = one(meshlint, "--pin", "megatron-bridge=0.4.2", "a.py", "b.py")
    (row,) = [row for row in pair["roles"][0]["meaning"] if row["what"] == "each packed sequence"]
    assert row["note"] == "the pad stays 1, packing wants 8: it does NOT FIT"
    assert pair["verdicts"] == ["GO", "NO-GO"]
    assert "PKD005" in [finding["code"] for finding in pair["appear"]]
    back = meshlint("diff", *PINS, "--pin", "megatron-bridge=0.4.2", "b.py", "a.py")
    assert back.status == 0
    assert "NO-GO -> GO" in back.out and "findings that go" in back.out


def test_one_launch_at_two_revisions(meshlint: CommandLine, checkout: Path) -> None:
    (checkout / "run.sh").write_text(script("--context-parallel-size 4"))
    git(Path.cwd(), "commit", "-q", "-a", "-m", "second")
    (checkout / "run.sh").write_text(script("--context-parallel-size 2"))
    for words, values in (
        (("v1:run.sh", "main:run.sh"), ("1", "4")),
        (("main:run.sh",), ("4", "2")),
        (("v1:run.sh", "run.sh"), ("1", "2")),
        (("main~1:.", "."), ("1", "2")),
    ):
        (role,) = one(meshlint, *words)["roles"]
        assert changes(role["fields"])["context_parallel_size"] == values


def test_a_revision_has_its_own_base_files_and_pins(meshlint: CommandLine, checkout: Path) -> None:
    (checkout / "sizes.sh").write_text("SIZES=(--context-parallel-size 2)\n")
    (checkout / "run.sh").write_text(script('"${SIZES[@]}"').replace("ARGS", "source ./sizes.sh\nARGS", 1))
    (checkout / "requirements.txt").write_text("verl==0.7.1\ntorch==2.8.0\n")
    git(Path.cwd(), "add", ".")
    git(Path.cwd(), "commit", "-q", "-m", "second")
    (checkout / "sizes.sh").write_text("SIZES=(--context-parallel-size 4)\n")
    (checkout / "requirements.txt").write_text("torch==2.9.1\n")
    run = meshlint("diff", "--format", "json", "HEAD:run.sh")
    (pair,) = json.loads(run.out)["pairs"]
    assert changes(pair["roles"][0]["fields"]) == {"context_parallel_size": ("2", "4")}
    assert changes(pair["launch"]) == {"torch": ("2.8.0", "2.9.1")}
    assert [row["before_at"] for row in pair["launch"]] == ["requirements.txt:2"]


def test_a_file_that_is_gone_and_one_that_is_new(meshlint: CommandLine, checkout: Path) -> None:
    git(Path.cwd(), "mv", "run.sh", "other.sh")
    assert meshlint("diff", *PINS, "v1:run.sh", "other.sh").out == "1 launch is the same on both sides.\n"
    run = meshlint("diff", "v1:other.sh", "other.sh")
    assert (run.status, "there is no file or folder `other.sh` at `v1`" in run.err) == (2, True)


def test_paths_count_from_the_current_folder_or_the_top(
    meshlint: CommandLine, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "jobs").mkdir()
    (checkout / "jobs" / "deep.sh").write_text(script())
    git(Path.cwd(), "add", ".")
    git(Path.cwd(), "commit", "-q", "-m", "second")
    monkeypatch.chdir(checkout / "jobs")
    for path in ("deep.sh", "jobs/deep.sh", "../jobs/deep.sh"):
        assert meshlint("diff", f"HEAD:{path}", "deep.sh").out.startswith("1 launch is the same")


def test_a_path_from_the_top_stands_for_both_sides(
    meshlint: CommandLine, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "run.sh").write_text(script("--context-parallel-size 2"))
    (checkout / "deep").mkdir()
    monkeypatch.chdir(checkout / "deep")
    (pair,) = compared(meshlint, "v1:run.sh")["pairs"]
    assert pair["roles"][0]["fields"][0]["after"] == "2"


def test_links_of_a_revision_are_followed_inside_of_it(meshlint: CommandLine, checkout: Path) -> None:
    (checkout / "deep").mkdir()
    (checkout / "deep" / "run.sh").write_text(script("--context-parallel-size 2"))
    for name, led in (("link.sh", "run.sh"), ("other", "deep"), ("away.sh", "/etc/hostname")):
        (checkout / name).symlink_to(led)
    git(Path.cwd(), "add", ".")
    git(Path.cwd(), "commit", "-q", "-m", "links")
    for path in ("link.sh", "other/run.sh", "other"):
        (pair,) = compared(meshlint, f"main:{path}", path)["pairs"]
        assert pair["before"]["identity"] == pair["after"]["identity"]
    run = meshlint("diff", "main:away.sh", "run.sh")
    assert (run.status, "there is no file or folder `away.sh` at `main`" in run.err) == (2, True)


def test_a_file_that_is_no_text_at_a_revision_is_refused(meshlint: CommandLine, checkout: Path) -> None:
    (checkout / "run.sh").write_bytes(b"#!/bin/bash\n\xff\xfe\0")
    git(Path.cwd(), "commit", "-q", "-a", "-m", "no text")
    run = meshlint("diff", "main:run.sh", "v1:run.sh")
    assert (run.status, "`run.sh` cannot be read at `main`" in run.err) == (2, True)


@pytest.mark.parametrize("name", ["packed-refs", "shallow", "info/attributes", "objects/info/alternates"])
def test_a_pipe_where_git_reads_makes_nobody_wait(meshlint: CommandLine, checkout: Path, name: str) -> None:
    pipe = checkout / ".git" / name
    pipe.parent.mkdir(exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    run = meshlint("diff", "v1:run.sh")
    assert (run.status, "no revision `v1` in the checkout `project` that git can read" in run.err) == (2, True)


def test_launches_are_paired_by_name_and_the_rest_is_told(meshlint: CommandLine, checkout: Path) -> None:
    (checkout / "more.sh").write_text(script("--context-parallel-size 2"))
    (checkout / "run.sh").write_text(script("--context-parallel-size 2"))
    found = compared(meshlint, "v1:.", ".")
    assert [pair["after"]["identity"] for pair in found["pairs"]] == ["run.sh::command 1"]
    assert [launch["identity"] for launch in found["only_after"]] == ["more.sh::command 1"]
    assert "only in .: more.sh::command 1" in meshlint("diff", "v1:.", ".").out


def test_launches_of_folders_are_paired_by_the_names_of_their_files(meshlint: CommandLine) -> None:
    for folder, flag in (("old", "--lr 1e-4"), ("new", "--context-parallel-size 2")):
        Path(folder).mkdir()
        for name in ("a.sh", "b.sh"):
            (Path(folder) / name).write_text(script(flag))
    pairs = compared(meshlint, "old", "new")["pairs"]
    assert [(pair["before"]["path"], pair["after"]["path"]) for pair in pairs] == [
        ("old/a.sh", "new/a.sh"),
        ("old/b.sh", "new/b.sh"),
    ]


def test_a_launch_that_is_gone_is_not_paired_with_one_that_is_new(meshlint: CommandLine) -> None:
    for name, tp in (("a/same.sh", 2), ("a/gone.sh", 4), ("a/lost.sh", 2), ("b/same.sh", 2), ("b/new.sh", 8)):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(script(f"--tensor-model-parallel-size {tp}"))
    found = compared(meshlint, "a", "b")
    assert [pair["after"]["identity"] for pair in found["pairs"]] == ["b/same.sh::command 1"]
    assert [one["path"] for one in found["only_before"]] == ["a/gone.sh", "a/lost.sh"]
    assert [one["path"] for one in found["only_after"]] == ["b/new.sh"]


def test_files_of_one_name_are_paired_by_their_folders_inside_of_both_sides(meshlint: CommandLine) -> None:
    for name, tp in (("a/x", 2), ("a/y", 4), ("a/old", 8), ("b/x", 4), ("b/y", 2), ("b/new", 8)):
        Path(name).mkdir(parents=True)
        Path(name, "run.sh").write_text(script(f"--tensor-model-parallel-size {tp}"))
    found = compared(meshlint, "a", "b")
    assert [(pair["before"]["path"], pair["after"]["path"]) for pair in found["pairs"]] == [
        ("a/old/run.sh", "b/new/run.sh"),
        ("a/x/run.sh", "b/x/run.sh"),
        ("a/y/run.sh", "b/y/run.sh"),
    ]
    Path("a/lost").mkdir()
    Path("a/lost/run.sh").write_text(script())
    found = compared(meshlint, "a", "b")
    assert [(pair["before"]["path"], pair["after"]["path"]) for pair in found["pairs"]] == [
        ("a/x/run.sh", "b/x/run.sh"),
        ("a/y/run.sh", "b/y/run.sh"),
    ]
    assert len(found["only_before"]) == 2


def test_a_renamed_file_is_paired_launch_by_launch(meshlint: CommandLine) -> None:
    for name in ("a/old.sh", "b/new.sh"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(script() + script("--context-parallel-size 2"))
    assert len(compared(meshlint, "a", "b")["pairs"]) == 2


def test_long_lists_that_begin_alike_are_told_apart(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script("--num-experts 8", "--moe-layer-freq [0]+[1]*51"))
    Path("b.sh").write_text(script("--num-experts 8", "--moe-layer-freq [0]+[1]*60"))
    (role,) = one(meshlint, "a.sh", "b.sh")["roles"]
    assert changes(role["fields"])["moe_layer_freq"] == ("[0] + [1] * 51", "[0] + [1] * 60")


def test_groups_that_do_not_fit_any_more_are_told_with_what_they_were(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script())
    Path("b.sh").write_text(script("--context-parallel-size 3"))
    (role,) = one(meshlint, "a.sh", "b.sh")["roles"]
    (groups,) = (row for row in role["meaning"] if row["what"] == "groups")
    assert (groups["before"], "NOT FIT" in groups["after"]) == ("tp 4 of 2, dp 2 of 4", True)


def test_a_longer_sequence_that_fits_as_before_changes_no_pad(meshlint: CommandLine) -> None:
    for name, length in (("a.sh", 4096), ("b.sh", 8192), ("c.sh", 4098)):
        Path(name).write_text(script("--context-parallel-size 2", f"--seq-length {length}"))
    (pair,) = compared(meshlint, "a.sh", "b.sh")["pairs"]
    assert "seq_length" not in [row["what"] for row in pair["roles"][0]["meaning"]]
    (pair,) = compared(meshlint, "a.sh", "c.sh")["pairs"]
    assert [row["note"] for row in pair["roles"][0]["meaning"] if row["what"] == "seq_length"] == ["4098 does NOT FIT"]


def test_the_named_config_is_paired_before_those_that_inherit_it(meshlint: CommandLine) -> None:
    policy = "policy: {model_name: Qwen/Qwen3-8B, megatron_cfg: {enabled: true, context_parallel_size: %d}}\n"
    for name, size in (("z_one", 1), ("z_two", 2)):
        Path(f"{name}.yaml").write_text(f"grpo: {{}}\n{policy % size}cluster: {{gpus_per_node: 8, num_nodes: 1}}\n")
        Path(f"a_{name}.yaml").write_text(f"defaults: {name}.yaml\ncluster: {{num_nodes: 4}}\n")
    pairs = compared(meshlint, "z_one.yaml", "z_two.yaml")["pairs"]
    assert [(pair["before"]["path"], pair["after"]["path"]) for pair in pairs] == [("z_one.yaml", "z_two.yaml")]


def test_equal_values_from_another_place_are_no_difference(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script())
    Path("b.sh").write_text(script("--context-parallel-size 1"))
    run = meshlint("diff", *PINS, "a.sh", "b.sh")
    assert (run.status, run.out) == (0, "1 launch is the same on both sides.\n")


def test_markdown_and_text_say_the_same(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script())
    Path("b.sh").write_text(script("--context-parallel-size 2"))
    text = meshlint("diff", *PINS, "a.sh", "b.sh").out
    shown = meshlint("diff", *PINS, "--format", "markdown", "a.sh", "b.sh").out
    rows = [line.strip() for line in text.splitlines() if " -> " in line and not line.startswith("GO")]
    assert rows and all(row in shown for row in rows)
    assert "### GO: `a.sh::command 1 -> b.sh::command 1`" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run.sh",), "give two paths, or one at a revision: REV:PATH"),
        (("nope.sh", "run.sh"), "there is no file or folder `nope.sh`"),
        (("mian:run.sh", "run.sh"), "there is no revision `mian`"),
        (("--output=x:run.sh", "run.sh"), "No such option"),
        (("v1:../../x.sh", "run.sh"), "lies in no git checkout"),
    ],
)
def test_sides_that_are_not_there(meshlint: CommandLine, checkout: Path, words: tuple[str, ...], said: str) -> None:
    run = meshlint("diff", *words)
    assert run.status == 2
    assert said in run.err


def test_a_revision_is_never_an_option_of_git(meshlint: CommandLine, checkout: Path) -> None:
    run = meshlint("diff", "--", "--output=stolen:run.sh", "run.sh")
    assert run.status == 2
    assert not (checkout / "stolen").exists()


def test_a_launch_that_comes_to_be_unreadable_fails_the_comparison(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script())
    Path("b.sh").write_text(f"#!/bin/bash\ntorchrun pretrain_gpt.py --save {'x' * 200_001}\n")
    run = meshlint("diff", *PINS, "a.sh", "b.sh")
    assert (run.status, "meshlint: error MSH003 b.sh:2: This cannot be read" in run.err) == (1, True)
    back = meshlint("diff", *PINS, "b.sh", "a.sh")
    assert (back.status, "MSH003" in back.err) == (0, False)


def test_one_reason_for_several_settings_is_told_once(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script("--context-parallel-size $WIDE", "--pipeline-model-parallel-size $WIDE"))
    Path("b.sh").write_text(script())
    told = meshlint("diff", *PINS, "a.sh", "b.sh").out.partition("what that changes")[0]
    assert told.count("the script does not set `WIDE`") == 1
    assert "context_parallel_size         ? -> 1" in told


def test_a_value_that_several_releases_share_is_no_difference(meshlint: CommandLine) -> None:
    for folder, pin in (("a", ">=0.16,<0.18"), ("b", "==0.18.2")):
        Path(folder).mkdir()
        Path(folder, "requirements.txt").write_text(f"megatron-core{pin}\n")
        Path(folder, "run.sh").write_text(script("--num-experts 8", "--expert-model-parallel-size 2"))
    run = meshlint("diff", "--format", "json", "a/run.sh", "b/run.sh")
    (pair,) = json.loads(run.out)["pairs"]
    rows = [row for one in pair["roles"] for row in one["fields"]]
    assert [row["name"] for row in rows if row["before"] == row["after"]] == []


def test_groups_are_the_same_where_only_their_nodes_come_to_be_unknown(meshlint: CommandLine) -> None:
    Path("a.sh").write_text(script(nodes=2))
    Path("b.sh").write_text(script(nodes=2).replace("torchrun --nnodes 2 --nproc-per-node 8", "srun -n 16 python"))
    (pair,) = compared(meshlint, "a.sh", "b.sh")["pairs"]
    assert [row["name"] for row in pair["launch"]] == ["nodes", "gpus_per_node"]
    assert pair["roles"] == []
